/*
 * trash.h: removing trees that a tenant made.
 *
 * A tree is renamed into <state_dir>/trash and unlinked there, later, by
 * name and descriptor only: no path inside it is ever followed, nothing
 * recurses, whatever its depth, and the deadline is kept within a few
 * unlinks.  Stopping half way loses nothing.
 */
#ifndef SANDLEASE_PROVIDER_HOST_TRASH_H
#define SANDLEASE_PROVIDER_HOST_TRASH_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

/*
 * Moves dir/name into the trash; where dir is on a file system of its own, it
 * gets a name there by which trash_sweep_here() knows it.  Success, too, when
 * there is no such entry: somebody else has moved it.
 */
int trash_take(const struct provider *p, int dir, const char *name,
    struct err *e) MUST_CHECK;

/* Unlinks until the trash is empty or the deadline is over. */
int trash_sweep(const struct provider *p, int64_t deadline_ms, bool *left,
    struct err *e) MUST_CHECK;

/* The same with what could only be given another name in `dir`. */
int trash_sweep_here(int dir, int64_t deadline_ms, bool *left, struct err *e)
    MUST_CHECK;

#endif
