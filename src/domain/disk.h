/*
 * disk.h: whom to stop when a shared disk runs full.
 *
 * Pure.  Two looks at what each session has are compared: the heaviest writer is
 * who grew most in between, not who has most; large and quiet does no harm.
 */
#ifndef SANDLEASE_DOMAIN_DISK_H
#define SANDLEASE_DOMAIN_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct disk_user {
	int64_t before, now; /* bytes at the two looks */
	bool whole;          /* false: there may be more than was seen */
	bool frozen;         /* already */
};

/* The marks of a disk, all in bytes, from its low-water mark. */
int64_t disk_critical(int64_t low); /* below: the ballast is given up */
int64_t disk_relaxed(int64_t low);  /* from here on: all go on */

/*
 * Who is to be frozen next; -1 when nobody.  free_before and free_now are those
 * of the two looks: where they became less somebody writes, seen or unseen.
 */
int disk_heaviest(const struct disk_user *u, size_t count, int64_t free_before,
    int64_t free_now);

#endif
