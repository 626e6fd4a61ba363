/*
 * snapshot.h: files of a session, kept outside any sandbox.
 *
 * <state_dir>/snapshots/<owner>/<id> is a job's directory (job.h): its tree
 * holds what was /workspace and /home/user.  A tenant's archive is taken apart
 * in a sandbox, and nothing below `files` is ever opened by us.
 *
 * `spare` beside it is the directory of the next session that is made of it: a
 * copy takes its time, a new name none.  It is given up when room is short.
 */
#ifndef SANDLEASE_PROVIDER_STORE_SNAPSHOT_H
#define SANDLEASE_PROVIDER_STORE_SNAPSHOT_H

#include "common/err.h"
#include "provider/provider.h"

/* The operations of provider.h. */
int snapshot_take(const struct provider *p, const struct snapshot_ref *s,
    const struct agent_target *t, const struct snapshot_bounds *most,
    int64_t deadline_ms, struct err *e) MUST_CHECK;
int snapshot_look(const struct provider *p, const struct snapshot_ref *s,
    struct snapshot_seen *out, struct err *e) MUST_CHECK;
int snapshot_drop(const struct provider *p, const struct snapshot_ref *s,
    struct err *e) MUST_CHECK;
int snapshot_list(const struct provider *p, struct snapshot_ref **out,
    size_t *count, struct err *e) MUST_CHECK;

/* Begins a copy of its files in `dir`, as those of a session (job.h). */
int snapshot_restore(const struct provider *p, const struct snapshot_ref *s,
    const char *dir, int64_t deadline_ms, int *ended, struct err *e) MUST_CHECK;

/* Where its spare is, or would be; the caller's. */
char *snapshot_spare(const struct provider *p, const struct snapshot_ref *s);
/* Begins to make one if there is none and there is room.  Best effort. */
void snapshot_make_spare(const struct provider *p,
    const struct snapshot_ref *s);
/* Moves all of them into the trash if room is short. */
int snapshot_spares_sweep(const struct provider *p, struct err *e) MUST_CHECK;

#endif
