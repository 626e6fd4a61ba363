/* disk.c: whom to stop when a shared disk runs full. */
#include "domain/disk.h"

enum { GROWTH_MIN = 1024 * 1024, PARTS = 4, HURRY = 32 };

int64_t
disk_room(int64_t free_bytes, int64_t total_bytes, int64_t free_files,
    int64_t total_files)
{
	int64_t by_files;

	if (total_files <= 0)
		return free_bytes;
	/* the product of such numbers may not fit into an integer */
	by_files = (int64_t)((double)total_bytes * (double)free_files /
	    (double)total_files);
	return by_files < free_bytes ? by_files : free_bytes;
}

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

/* One of which nothing was seen may be the one that hides all. */
static int
largest(const struct disk_user *u, size_t count, bool hidden_only)
{
	int64_t most = hidden_only ? -1 : 0;
	int found = -1;

	for (size_t i = 0; i < count; i++)
		if (!u[i].frozen && !(hidden_only && u[i].whole) &&
		    u[i].now > most) {
			most = u[i].now;
			found = (int)i;
		}
	return found;
}

static int
furthest_over(const struct disk_user *u, size_t count)
{
	int64_t most = 0;
	int found = -1;

	for (size_t i = 0; i < count; i++)
		if (!u[i].frozen && u[i].over > most) {
			most = u[i].over;
			found = (int)i;
		}
	return found;
}

/* Twice what was seen: the host writes, too. */
static bool
is_unexplained(const struct disk_user *u, size_t count, int64_t fall)
{
	int64_t seen = 0;

	for (size_t i = 0; i < count; i++)
		if (u[i].now > u[i].before)
			seen += u[i].now - u[i].before;
	return fall > GROWTH_MIN && fall / 2 > seen;
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
	int found = -1;

	if (is_unexplained(u, count, free_before - free_now))
		found = largest(u, count, true);
	if (found < 0)
		found = furthest_over(u, count);
	if (found >= 0)
		return found;
	for (size_t i = 0; i < count; i++)
		any_frozen = any_frozen || u[i].frozen;
	found =
	    fastest(u, count, any_frozen ? free_now / HURRY + 1 : GROWTH_MIN);
	/* who wrote it all has ended */
	if (found < 0 && !any_frozen)
		found = largest(u, count, false);
	return found;
}
