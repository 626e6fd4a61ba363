/*
 * storage.h: the directories of sessions, which outlive every sandbox.
 *
 * <state_dir>/storage/<sandbox>/<session>/{workspace,home,backups}.  What
 * lies below these is the tenant's: it is never opened, measured or followed
 * here, only moved away as a whole.
 */
#ifndef SANDLEASE_PROVIDER_STORE_STORAGE_H
#define SANDLEASE_PROVIDER_STORE_STORAGE_H

#include <stdbool.h>

#include "common/err.h"
#include "provider/provider.h"

/* A copy that is being made for a session has its name behind this. */
#define STORAGE_COPY ".copy-"

/* provider.h's storage_id and storage_mark: the file <state_dir>/storage/.id. */
int storage_id(const struct provider *p, char id[STORAGE_ID_MAX], bool *empty,
    struct err *e) MUST_CHECK;
int storage_mark(const struct provider *p, const char *id, struct err *e)
    MUST_CHECK;

/*
 * ERR_UNAVAILABLE unless the storage is there and, if the provider knows its
 * id, is that one.  A file system that is not mounted proves no loss.
 */
int storage_check(const struct provider *p, struct err *e) MUST_CHECK;

/* `name` is box_name() of the sandbox, throughout. */
char *storage_path(const struct provider *p, const char *name);

/* The sandbox's own directory, which bwrap binds; idempotent. */
int storage_make_box(const struct provider *p, const char *name, struct err *e)
    MUST_CHECK;
int storage_box_exists(const struct provider *p, const char *name, bool *out,
    struct err *e) MUST_CHECK;
int storage_drop_box(const struct provider *p, const char *name, struct err *e)
    MUST_CHECK;

int storage_make(const struct provider *p, const char *name,
    const char *session, struct err *e) MUST_CHECK;
int storage_exists(const struct provider *p, const char *name,
    const char *session, bool *out, struct err *e) MUST_CHECK;
int storage_drop(const struct provider *p, const char *name,
    const char *session, struct err *e) MUST_CHECK;
/*
 * Moves the copy that was begun for a session, in the sandbox's directory `box`,
 * into the trash.  A job that still writes goes on there, and is swept.
 */
int storage_drop_copy(const struct provider *p, int box, const char *session,
    struct err *e) MUST_CHECK;

/* Names of the sessions that have a directory; NULL at the end. */
int storage_sessions(const struct provider *p, const char *name, char ***out,
    struct err *e) MUST_CHECK;
/*
 * Unlinks what was dropped on file systems of sandboxes' own, from where it
 * cannot be moved into the trash.
 */
int storage_sweep(const struct provider *p, int64_t deadline_ms, bool *left,
    struct err *e) MUST_CHECK;
/* Names of the sandboxes that have one. */
int storage_boxes(const struct provider *p, char ***out, struct err *e)
    MUST_CHECK;

#endif
