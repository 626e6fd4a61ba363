/*
 * snapshot.h: takes, copies and removes snapshots, which hold the files of a
 * session outside any sandbox.
 *
 * <state_dir>/snapshots/<owner>/<id> is a job's directory (job.h).  `files` in
 * it holds what was /workspace and /home/user.  The job unpacks the tenant's
 * archive in a sandbox; the service itself never opens a file below `files`.
 *
 * `spare` in it is a copy made in advance for the next session that starts from
 * the snapshot: that session needs only a rename, which is faster than a copy.
 * Spares are removed when room is short.
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

/* Starts a job that copies the snapshot's files to `dir`, for a session. */
int snapshot_restore(const struct provider *p, const struct snapshot_ref *s,
    const char *dir, int64_t deadline_ms, int *ended, struct err *e) MUST_CHECK;

/* The path of the snapshot's spare, even if there is none; to be freed. */
char *snapshot_spare(const struct provider *p, const struct snapshot_ref *s);
/*
 * Starts a job that makes the spare, if there is none and there is room.
 * Errors are ignored: without a spare the next session waits for a copy.
 */
void snapshot_make_spare(const struct provider *p,
    const struct snapshot_ref *s);
/* Moves all spares into the trash if room is short. */
int snapshot_spares_sweep(const struct provider *p, struct err *e) MUST_CHECK;

#endif
