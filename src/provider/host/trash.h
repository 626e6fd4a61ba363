/*
 * trash.h: removes directory trees that a tenant made.
 *
 * trash_take() renames a tree into <state_dir>/trash, and a sweep unlinks it
 * later.  A sweep uses names relative to descriptors only: it never follows a
 * path inside the tree, opens a few levels at most, whatever the tree's depth,
 * and ends within a few unlinks after its deadline.  The next sweep continues
 * where this one stopped; several may sweep at once.
 */
#ifndef SANDLEASE_PROVIDER_HOST_TRASH_H
#define SANDLEASE_PROVIDER_HOST_TRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

/*
 * Moves dir/name into the trash.  If `dir` is on another file system the entry
 * stays there and gets a name by which trash_sweep_here() finds it.  A missing
 * entry is success: another worker has moved it.
 */
int trash_take(const struct provider *p, int dir, const char *name,
    struct err *e) MUST_CHECK;

/*
 * Unlinks until the trash is empty or the deadline is over; *left says whether
 * something remains.
 */
int trash_sweep(const struct provider *p, int64_t deadline_ms, bool *left,
    struct err *e) MUST_CHECK;

/* The same for the entries that trash_take() left in `dir`. */
int trash_sweep_here(int dir, int64_t deadline_ms, bool *left, struct err *e)
    MUST_CHECK;

#endif
