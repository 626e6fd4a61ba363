/* disk.c: whom to stop when a shared disk runs full. */
#include "domain/disk.h"

enum { GROWTH_MIN = 1024 * 1024, PARTS = 4, HURRY = 32 };

int64_t
disk_critical(int64_t low)
{
	return low / PARTS;
}

/* Not at the mark itself, or freezing and thawing would take turns. */
int64_t
disk_relaxed(int64_t low)
{
	return low + low / PARTS;
}

static int
fastest(const struct disk_user *u, size_t count, int64_t least)
{
	int64_t most = least - 1;
	int found = -1;

	for (size_t i = 0; i < count; i++)
		if (!u[i].frozen && u[i].now - u[i].before > most) {
			most = u[i].now - u[i].before;
			found = (int)i;
		}
	return found;
}

static int
largest(const struct disk_user *u, size_t count, bool hidden_only)
{
	int64_t most = 0;
	int found = -1;

	for (size_t i = 0; i < count; i++)
		if (!u[i].frozen && !(hidden_only && u[i].whole) &&
		    u[i].now > most) {
			most = u[i].now;
			found = (int)i;
		}
	return found;
}

/*
 * The first to be frozen is whoever writes most.  From then on only who would
 * use up what is left within some thirty such looks: a line in a log may be
 * written by anybody.
 */
int
disk_heaviest(const struct disk_user *u, size_t count, int64_t free_before,
    int64_t free_now)
{
	bool any_frozen = false;
	int found;

	for (size_t i = 0; i < count; i++)
		any_frozen = any_frozen || u[i].frozen;
	found =
	    fastest(u, count, any_frozen ? free_now / HURRY + 1 : GROWTH_MIN);
	if (found < 0 && free_before - free_now > free_now / HURRY)
		found = largest(u, count, true);
	/* who wrote it all has ended */
	if (found < 0 && !any_frozen)
		found = largest(u, count, false);
	return found;
}
