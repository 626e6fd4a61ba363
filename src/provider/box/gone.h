/*
 * gone.h: an index of tombstones, so that a list of sandboxes does not open
 * them.
 *
 * <state_dir>/box/.gone has an entry SECONDS.NAME for each sandbox that was
 * destroyed: a hard link to its record, made when nothing else was left of it.
 * An entry only says where not to look: the tombstone is the record in the box,
 * which refuses a late start.  One without an entry (of an older version, or
 * after a crash) is found like any other box; an entry whose sandbox was started
 * again is removed when it is old.
 */
#ifndef SANDLEASE_PROVIDER_BOX_GONE_H
#define SANDLEASE_PROVIDER_BOX_GONE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "provider/box/box.h"

/* Adds an entry for a box in which only the tombstone is left.  Best effort. */
void gone_add(const struct box *b);

/* Names of sandboxes, sorted.  Owned: gone_list_free(). */
struct gone_list {
	char **name;
	size_t count;
};

#define auto_gone __attribute__((cleanup(gone_list_free)))
void gone_list_free(struct gone_list *l);

/* Lists the sandboxes that have an entry. */
int gone_list(const struct provider *p, struct gone_list *out, struct err *e)
    MUST_CHECK;
bool gone_has(const struct gone_list *l, const char *name);

/*
 * Removes tombstones that are old enough, with their entries, until the
 * deadline; a busy one is left for the next time.
 */
int gone_bury(const struct provider *p, int64_t deadline_ms, struct err *e)
    MUST_CHECK;

#endif
