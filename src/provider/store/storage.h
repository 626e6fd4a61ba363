/*
 * storage.h: makes, finds and removes the directories of sessions, which
 * outlive every sandbox.
 *
 * <state_dir>/storage/<sandbox>/<session>/{workspace,home,backups}.  The files
 * below these are the tenant's: this code never opens, measures or follows
 * them, it only moves the whole tree into the trash.
 */
#ifndef SANDLEASE_PROVIDER_STORE_STORAGE_H
#define SANDLEASE_PROVIDER_STORE_STORAGE_H

#include <stdbool.h>

#include "common/err.h"
#include "provider/provider.h"

/* A copy that is being made for a session is named STORAGE_COPY<session>. */
#define STORAGE_COPY ".copy-"

/*
 * The operations storage_id and storage_mark of provider.h.  The id is in the
 * file <state_dir>/storage/.id.
 */
int storage_id(const struct provider *p, char id[STORAGE_ID_MAX], bool *empty,
    struct err *e) MUST_CHECK;
int storage_mark(const struct provider *p, const char *id, struct err *e)
    MUST_CHECK;

/*
 * ERR_UNAVAILABLE unless the storage exists and has the id p->storage_id, if
 * that is known.  Callers check first, so that a file system that is not
 * mounted is not taken for lost files.
 */
int storage_check(const struct provider *p, struct err *e) MUST_CHECK;

/* Here and below, `name` is the sandbox's box_name(). */
char *storage_path(const struct provider *p, const char *name);

/* Makes the sandbox's own directory, which bwrap binds; idempotent. */
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
 * Moves the copy that was started for a session, in the sandbox's directory
 * `box`, into the trash.  A job that still writes goes on in the trash, and a
 * sweep removes its files.
 */
int storage_drop_copy(const struct provider *p, int box, const char *session,
    struct err *e) MUST_CHECK;

/*
 * Lists the names in the sandbox's directory, NULL at the end: sessions, copies
 * and trash.
 */
int storage_sessions(const struct provider *p, const char *name, char ***out,
    struct err *e) MUST_CHECK;
/*
 * Unlinks dropped directories of sandboxes that have a file system of their
 * own: a rename cannot move those into the trash.
 */
int storage_sweep(const struct provider *p, int64_t deadline_ms, bool *left,
    struct err *e) MUST_CHECK;
/* Lists the names in <state_dir>/storage, those of sandboxes among them. */
int storage_boxes(const struct provider *p, char ***out, struct err *e)
    MUST_CHECK;

#endif
