/*
 * local.h: the provider that uses bubblewrap on this host, and what its files
 * share.
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
 * The control socket's path.  The sandbox's name is shortened, because a unix
 * socket's has 107 bytes at most; the incarnation alone makes it unique.
 */
char *local_control_path(const struct provider *p, const char *name,
    const char *incarnation);

/*
 * Whether anything of the sandbox runs: by its groups, by the processes on
 * record, by the lock they hold.  An error is "could not tell".
 */
int local_runs(const struct provider *p, const struct box *b, bool *out,
    struct err *e) MUST_CHECK;

/* The same, with an unknown holder of the lock taken as running. */
int local_may_run(const struct provider *p, const struct box *b, bool *out,
    struct err *e) MUST_CHECK;

/* Kills all of it and returns once local_runs() says no. */
int local_kill(const struct provider *p, const struct box *b,
    int64_t deadline_ms, struct err *e) MUST_CHECK;

/* Removes sockets to which nobody listens any more: nothing of it runs. */
void local_unlink_sockets(const struct provider *p, const struct box *b,
    const struct record *r);

/* Removes the groups of sandboxes of which nothing else is left. */
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
int local_suspend(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;
int local_resume(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e) MUST_CHECK;
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
/* It is frozen for another reason now: cell_freeze does not let it go. */
void local_forget_frozen(const struct provider *p, const char *session);
int local_frozen(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e) MUST_CHECK;

#endif
