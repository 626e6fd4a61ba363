/*
 * disk.h: chooses the session to freeze when a shared disk runs full.
 *
 * Pure.  Compares two measurements of each session.  The heaviest writer is the
 * session that grew most between them, not the largest one: a large session
 * that writes nothing does no harm.  Two kinds of session come before the
 * heaviest writer.  The first is a session that could not be measured wholly,
 * if free space falls faster than the measured growth explains.  The second is
 * a session over its limit.
 */
#ifndef SANDLEASE_DOMAIN_DISK_H
#define SANDLEASE_DOMAIN_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_user {
	int64_t before, now; /* bytes at the two measurements */
	int64_t over;        /* bytes beyond its limit */
	bool whole;          /* false: some of it could not be measured */
	bool frozen;         /* already */
};

/*
 * The room left on a disk, in bytes.  Inodes may be scarcer than bytes: if a
 * tenth of the inodes is free, the room is at most a tenth of the disk.
 * total_files is 0 for a file system without a fixed number of inodes.
 */
int64_t disk_room(int64_t free_bytes, int64_t total_bytes, int64_t free_files,
    int64_t total_files);

/* The marks of a disk, all in bytes, from its low-water mark. */
int64_t disk_critical(int64_t low); /* below: the ballast is deleted */
int64_t disk_relaxed(int64_t low);  /* from here on: all sessions are thawed */

/*
 * The index of the session to freeze next; -1: none.  The caller measures
 * free_before and free_now between its two measurements of the sessions.  So
 * all that sessions write in that time is part of their growth; if free space
 * falls by more, the growth of a session was not measured.
 */
int disk_heaviest(const struct disk_user *u, size_t count, int64_t free_before,
    int64_t free_now);

#endif
