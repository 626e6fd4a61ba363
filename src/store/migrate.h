/*
 * migrate.h: brings the schema up to date.
 *
 * Migrations go forward only, in one transaction each, and are recorded by
 * name.  Functions are replaced on each deploy.  If two processes migrate at
 * once, the second waits for the first.
 */
#ifndef SANDLEASE_STORE_MIGRATE_H
#define SANDLEASE_STORE_MIGRATE_H

#include <stddef.h>

#include "common/err.h"
#include "store/store.h"

/* Runs dir/migrations and dir/functions; *applied counts new migrations. */
int migrate(struct store *st, const char *dir, size_t *applied, struct err *e)
    MUST_CHECK;

#endif
