/*
 * disk.h: whom to stop when a shared disk runs full.
 *
 * Pure.  Two looks at what each session has are compared: the heaviest writer is
 * who grew most in between, not who has most; large and quiet does no harm.  Two
 * come before the heaviest writer: a session that could not be measured wholly,
 * when free space falls faster than the growth that was seen explains, and one
 * that has more than its limit.
 */
#ifndef SANDLEASE_DOMAIN_DISK_H
#define SANDLEASE_DOMAIN_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_user {
	int64_t before, now; /* bytes at the two looks */
	int64_t over;        /* bytes beyond its limit */
	bool whole;          /* false: there may be more than was seen */
	bool frozen;         /* already */
};

/*
 * What is left of a disk, in bytes.  Its inodes may be scarcer than its bytes:
 * where a tenth of them is free, it is as if a tenth of the bytes were.  A file
 * system that has no number of inodes says total_files 0.
 */
int64_t disk_room(int64_t free_bytes, int64_t total_bytes, int64_t free_files,
    int64_t total_files);

/* The marks of a disk, all in bytes, from its low-water mark. */
int64_t disk_critical(int64_t low); /* below: the ballast is given up */
int64_t disk_relaxed(int64_t low);  /* from here on: all go on */

/*
 * Who is to be frozen next; -1 when nobody.  free_before and free_now lie between
 * the two looks: what is written in that time is growth of somebody's, so where
 * free space falls by more, somebody's growth was not seen.
 */
int disk_heaviest(const struct disk_user *u, size_t count, int64_t free_before,
    int64_t free_now);

#endif
