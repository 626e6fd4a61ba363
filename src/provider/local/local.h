/*
 * local.h: the provider `local`, which starts sandboxes with bubblewrap on this
 * host; functions that its files share.
 */
#ifndef SANDLEASE_PROVIDER_LOCAL_LOCAL_H
#define SANDLEASE_PROVIDER_LOCAL_LOCAL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "provider/box/box.h"
#include "provider/provider.h"

extern const struct provider_ops PROVIDER_LOCAL;

/*
 * The path of init's control socket; the caller frees it.  The sandbox's name
 * is shortened, because the path of a unix socket has at most 107 bytes.  The
 * incarnation alone makes the path unique.
 */
char *local_control_path(const struct provider *p, const char *name,
    const char *incarnation);

/*
 * Whether a process of the sandbox runs: looks at its cgroups, at the processes
 * on record and at the lock they hold.  An error means that this is not known;
 * ERR_BUSY: an unknown process holds the lock.
 */
int local_runs(const struct provider *p, const struct box *b, bool *out,
    struct err *e) MUST_CHECK;

/* The same, but *out is true if an unknown process holds the lock. */
int local_may_run(const struct provider *p, const struct box *b, bool *out,
    struct err *e) MUST_CHECK;

/*
 * Kills all processes of the sandbox and removes its groups; returns once
 * local_runs() says no.
 */
int local_kill(const struct provider *p, const struct box *b,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Removes the sockets of a sandbox of which no process runs any more. */
void local_unlink_sockets(const struct provider *p, const struct box *b,
    const struct record *r);

/*
 * Names of all sandboxes with a box, files or a group, sorted; an array that
 * ends with NULL, of malloc'ed strings.  A box with a tombstone alone is none:
 * one that runs has files, too.
 */
int local_names(const struct provider *p, char ***out, size_t *count,
    struct err *e) MUST_CHECK;

/* Removes the empty cgroups of sandboxes that have no box any more. */
int local_sweep_groups(const struct provider *p, int64_t deadline_ms,
    struct err *e) MUST_CHECK;

/* The operations, one file each. */
int local_open(const struct provider *p, struct err *e) MUST_CHECK;
int local_check(const struct provider *p, struct err *e) MUST_CHECK;
int local_ready(const struct provider *p, struct err *e) MUST_CHECK;
int local_ensure(const struct provider *p, const struct sandbox_spec *s,
    int64_t deadline_ms, struct err *e) MUST_CHECK;
int local_inspect(const struct provider *p, const char *id,
    struct sandbox_seen *out, struct err *e) MUST_CHECK;
int local_list(const struct provider *p, struct sandbox_seen **out,
    size_t *count, struct err *e) MUST_CHECK;
int local_storage_list(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e) MUST_CHECK;
int local_cell_list(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e) MUST_CHECK;
int local_stop(const struct provider *p, const char *id,
    const char *incarnation, int64_t deadline_ms, struct err *e) MUST_CHECK;
int local_destroy(const struct provider *p, const char *id,
    const char *incarnation, int64_t deadline_ms, struct err *e) MUST_CHECK;
void local_begin_end(const struct provider *p, const char *id,
    const char *incarnation, bool destroy);
int local_suspend(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;
int local_resume(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;
int local_usage(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct usage *out, struct err *e) MUST_CHECK;
int local_thaw_orphans(const struct provider *p, const char *id, struct err *e)
    MUST_CHECK;

/* local/disk.c */
int local_capacity(const struct provider *p, const char *id,
    struct capacity *out, struct err *e) MUST_CHECK;
bool local_own_disk(const struct provider *p, const char *id);
int local_workspaces(const struct provider *p, const char *id,
    struct workspace **out, size_t *count, struct err *e) MUST_CHECK;
int local_ballast(const struct provider *p, int64_t bytes, struct err *e)
    MUST_CHECK;
int64_t local_ballast_size(const struct provider *p);

/* local/freeze.c */
int local_freeze(const struct provider *p, const struct session_seen *s,
    bool on, struct err *e) MUST_CHECK;
/*
 * Removes the note of local_freeze(): a suspend has frozen the session now, and
 * cell_freeze must not thaw it.
 */
void local_forget_frozen(const struct provider *p, const char *session);
int local_frozen(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e) MUST_CHECK;

#endif
