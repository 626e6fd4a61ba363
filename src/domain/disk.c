/* disk.c: chooses the session to freeze when a shared disk runs full. */
#include "domain/disk.h"

enum { GROWTH_MIN = 1024 * 1024, PARTS = 4, HURRY = 32 };

int64_t
disk_room(int64_t free_bytes, int64_t total_bytes, int64_t free_files,
    int64_t total_files)
{
	int64_t by_files;

	if (total_files <= 0)
		return free_bytes;
	/* double: the product may not fit into 64 bits */
	by_files = (int64_t)((double)total_bytes * (double)free_files /
	    (double)total_files);
	return by_files < free_bytes ? by_files : free_bytes;
}

int64_t
disk_critical(int64_t low)
{
	return low / PARTS;
}

/* Above the mark itself, or freezing and thawing would alternate. */
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

/*
 * With hidden_only, a session of 0 bytes counts, too: it may hide all that it
 * has.
 */
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

/* The host writes, too, so up to twice the growth of the sessions is normal. */
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
 * The first session to be frozen is the fastest writer.  After that, a session
 * is frozen only if its growth would use up the free space within some thirty
 * such intervals: any session may write a line to a log.
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
	/* the session that wrote has ended or paused: take the largest */
	if (found < 0 && !any_frozen)
		found = largest(u, count, false);
	return found;
}
