/*
 * copy.h: copies a snapshot's files into the directories of a new session.
 *
 * A job (job.h) makes the copy in a temporary directory, whose name begins with
 * STORAGE_COPY.  An atomic rename then makes it the session's directory: a
 * session has all of the files or none.
 */
#ifndef SANDLEASE_PROVIDER_STORE_COPY_H
#define SANDLEASE_PROVIDER_STORE_COPY_H

#include <stdint.h>

#include "common/err.h"
#include "provider/provider.h"

/* storage_from of provider.h; `name` is the sandbox's box_name(). */
int storage_from(const struct provider *p, const char *name,
    const char *session, const struct snapshot_ref *s, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

#endif
