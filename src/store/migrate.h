/*
 * migrate.h: brings the schema up to date.
 *
 * Migrations go forward only, one transaction each, recorded by name;
 * functions are replaced on each deploy.  Two migrations at once: one waits.
 */
#ifndef SANDLEASE_STORE_MIGRATE_H
#define SANDLEASE_STORE_MIGRATE_H

#include <stddef.h>

#include "common/err.h"
#include "store/store.h"

/* `dir` has migrations/ and functions/.  *applied counts new migrations. */
int migrate(struct store *st, const char *dir, size_t *applied, struct err *e)
    MUST_CHECK;

#endif
