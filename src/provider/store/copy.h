/*
 * copy.h: makes a session's directories of a snapshot's files.
 *
 * The copy is made by a job (job.h) in a directory beside, whose name begins
 * with STORAGE_COPY, and becomes the session's by a rename: a session has all of
 * the files or none.
 */
#ifndef SANDLEASE_PROVIDER_STORE_COPY_H
#define SANDLEASE_PROVIDER_STORE_COPY_H

#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

/* provider.h's storage_from; `name` is box_name() of the sandbox. */
int storage_from(const struct provider *p, const char *name,
    const char *session, const struct snapshot_ref *s, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

#endif
