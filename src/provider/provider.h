/*
 * provider.h: where sandboxes come from.
 *
 * A provider is a const vtable.  It keeps no memory between calls; every call
 * is idempotent on the sandbox id, has a deadline (of clock_ms()) and carries
 * the incarnation it means; a stale one is refused with code
 * "stale_incarnation".  An error is never "absent" and never an empty list.
 * What goes on inside a sandbox (cells, wrappers) is link/link.h's, the same
 * for every provider.
 */
#ifndef SANDLEASE_PROVIDER_PROVIDER_H
#define SANDLEASE_PROVIDER_PROVIDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/err.h"
#include "common/id.h"
#include "common/json.h"
#include "common/str.h"
#include "domain/sandbox.h"
#include "provider/handle.h"

enum {
	PROVIDER_PATH_MAX = 512,
	PROVIDER_CELL_FDS_MAX = 4 /* cgroup.procs files of one cell */
};

enum presence {
	PRESENCE_RUNNING,
	PRESENCE_STOPPED, /* nothing runs, its files are there */
	PRESENCE_ABSENT,  /* neither processes nor files */
	PRESENCE_UNKNOWN, /* could not tell: never taken as absent */
	PRESENCE__MAX
};

extern const char *const PRESENCE_NAMES[];

/* One sandbox that carries our label. */
struct sandbox_seen {
	char id[SANDBOX_ID_MAX];
	char incarnation[ID_MAX]; /* "" when none is on record */
	enum presence presence;
	bool unanswered; /* it runs, and its init has never said a word */
};

/* The file system a sandbox's workspaces lie on. */
struct capacity {
	int64_t free_bytes; /* for us, not for root */
	int64_t total_bytes;
	int64_t free_files, total_files; /* inodes; total 0: any number */
	int64_t room_bytes; /* disk_room() of these: what the marks compare */
};

/* A session's directories, as the host made them. */
struct workspace {
	char session[ID_MAX];
	int64_t age_seconds; /* -1: it cannot be told */
};

/* Something of a session, in a sandbox of ours. */
struct session_seen {
	char sandbox[SANDBOX_ID_MAX];
	char session[ID_MAX];
	int64_t generation; /* of its cell, where that is known */
};

enum { SNAPSHOT_OWNER_MAX = 33 };

/* A snapshot: whose it is, as 32 hexadecimal digits, and its id. */
struct snapshot_ref {
	char owner[SNAPSHOT_OWNER_MAX];
	char id[ID_MAX]; /* as a session's */
};

/* What taking one may cost. */
struct snapshot_bounds {
	int64_t bytes, seconds;
};

enum snapshot_presence {
	SNAPSHOT_ABSENT,
	SNAPSHOT_UNDER_WAY, /* somebody writes it */
	SNAPSHOT_WHOLE,
	SNAPSHOT_BROKEN
};

struct snapshot_seen {
	enum snapshot_presence presence;
	int64_t files, bytes; /* of a whole one */
	struct err why;       /* of a broken one */
};

struct agent_target; /* domain/agent.h */

struct provider_ops {
	const char *name;

	/* Directories and files; cheap, done at every start of a worker. */
	int (*open)(const struct provider *p, struct err *e);
	/* What `open` cannot see without trying: starts something. */
	int (*check)(const struct provider *p, struct err *e);
	/*
	 * Looks, without starting anything, whether what open() needed is still
	 * there.  ERR_UNAVAILABLE "host_not_ready" names what is not.
	 */
	int (*ready)(const struct provider *p, struct err *e);

	/*
	 * Creates, starts or adopts exactly this incarnation; returns when its
	 * init answers.  A running older incarnation is stopped first (it is
	 * garbage); a running newer one, or one recorded on disk as newer,
	 * makes this call stale.  So does an incarnation that has begun
	 * once and is over (stopped, destroyed, died): it never starts again,
	 * because what its init had sealed died with it.
	 */
	int (*ensure)(const struct provider *p, const struct sandbox_spec *s,
	    int64_t deadline_ms, struct err *e);

	/*
	 * What there is of it now; looking changes nothing.  What cannot be
	 * told is PRESENCE_UNKNOWN with the reason in *e, and 0; or -1.
	 */
	int (*inspect)(const struct provider *p, const char *id,
	    struct sandbox_seen *out, struct err *e);

	/* Everything of this installation on this host.  *out is malloc'ed. */
	int (*list)(const struct provider *p, struct sandbox_seen **out,
	    size_t *count, struct err *e);

	/*
	 * Ends every process and observes that; files stay.  Stale when
	 * another incarnation than this one runs; nothing running is success.
	 */
	int (*stop)(const struct provider *p, const char *id,
	    const char *incarnation, int64_t deadline_ms, struct err *e);

	/*
	 * stop, then moves files into the trash and forgets the sandbox, but
	 * for a tombstone that refuses a late ensure.  Stale, too, when the
	 * incarnation is known to be an older one than that on record: the
	 * files are the newer one's.
	 */
	int (*destroy)(const struct provider *p, const char *id,
	    const char *incarnation, int64_t deadline_ms, struct err *e);

	/*
	 * Holds one session still with all its memory, and lets it go on.
	 * Optional: NULL, or "cannot_suspend" where the machine cannot.  They
	 * carry the session row's suspend_order; one that is older than what
	 * has been carried out is refused with "stale_order".  suspend
	 * returns once all of it has been seen to stand still.
	 */
	int (*suspend)(const struct provider *p, const struct agent_target *t,
	    int64_t order, int64_t deadline_ms, struct err *e);
	int (*resume)(const struct provider *p, const struct agent_target *t,
	    int64_t order, int64_t deadline_ms, struct err *e);

	/*
	 * Thaws the cells of a sandbox whose init is dead: frozen processes do
	 * not die with their init, so inspect would say PRESENCE_RUNNING of
	 * such a sandbox for ever.  Nothing happens, and that is success, while
	 * init listens or cannot be reached for another reason.
	 */
	int (*thaw_orphans)(const struct provider *p, const char *id,
	    struct err *e);

	/* A connected control channel to init.  The descriptor is the caller's. */
	int (*control)(const struct provider *p, const char *id,
	    const char *incarnation, struct err *e);

	/*
	 * What the storage of this host is known by: "" when it has no id yet.
	 * *empty: no sandbox has a directory there.  storage_mark gives it an
	 * id, unless it has one.  storage_check is ERR_UNAVAILABLE when it is
	 * not there, or not the one with `storage_id` of struct provider.
	 * All NULL: its files cannot be elsewhere.
	 */
	int (*storage_id)(const struct provider *p, char id[STORAGE_ID_MAX],
	    bool *empty, struct err *e);
	int (*storage_mark)(const struct provider *p, const char *id,
	    struct err *e);
	int (*storage_check)(const struct provider *p, struct err *e);

	/*
	 * A session's directories: made (idempotent), looked for, moved into
	 * the trash (success when there are none).
	 */
	int (*storage_make)(const struct provider *p, const char *id,
	    const char *session, struct err *e);
	int (*storage_exists)(const struct provider *p, const char *id,
	    const char *session, bool *out, struct err *e);
	int (*storage_drop)(const struct provider *p, const char *id,
	    const char *session, struct err *e);

	/*
	 * A session's directories with a snapshot's files in them: there as a
	 * whole or not at all.  Idempotent.  ERR_BUSY "copying" when that takes
	 * longer than the deadline: it goes on, and asking again hears of it.
	 */
	int (*storage_from)(const struct provider *p, const char *id,
	    const char *session, const struct snapshot_ref *s,
	    int64_t deadline_ms, struct err *e);

	/* Every session that has a directory here.  *out is malloc'ed. */
	int (*storage_list)(const struct provider *p, struct session_seen **out,
	    size_t *count, struct err *e);

	/* All sessions that have directories in a sandbox.  *out is malloc'ed. */
	int (*workspaces)(const struct provider *p, const char *id,
	    struct workspace **out, size_t *count, struct err *e);

	/*
	 * How much room there is where a sandbox's workspaces are or will be;
	 * id "" means this host's state as a whole.
	 */
	int (*capacity)(const struct provider *p, const char *id,
	    struct capacity *out, struct err *e);
	/*
	 * Whether that file system is the sandbox's own, so that nobody else's
	 * files can fill it.  What cannot be told is false.
	 */
	bool (*own_disk)(const struct provider *p, const char *id);

	/*
	 * A file of that many bytes where the workspaces are, which can be
	 * given up at once: made (0: removed), idempotent.
	 */
	int (*ballast)(const struct provider *p, int64_t bytes, struct err *e);
	/* How many bytes it has now; 0 when there is none. */
	int64_t (*ballast_size)(const struct provider *p);

	/*
	 * Stops a cell where it stands, or lets it go on.  Who was stopped, or
	 * may have been, is on record, for `frozen` to tell, until it is let
	 * go; letting go what was not stopped, or is not there any more, is
	 * success.
	 */
	int (*cell_freeze)(const struct provider *p,
	    const struct session_seen *s, bool on, struct err *e);
	/* Everybody on record.  *out is malloc'ed. */
	int (*frozen)(const struct provider *p, struct session_seen **out,
	    size_t *count, struct err *e);

	/*
	 * The cell's own cgroup(s): made with their limits, opened for the
	 * cell to join (count may be 0 where nothing is delegated).  cell_gone
	 * says whether the kernel still counts a process in it, without asking
	 * the agent, and removes the empty group.
	 */
	int (*cell_open)(const struct provider *p, const struct sandbox_spec *s,
	    const char *session, int fds[PROVIDER_CELL_FDS_MAX], size_t *count,
	    struct err *e);
	int (*cell_gone)(const struct provider *p, const char *id,
	    const char *session, bool *gone, struct err *e);
	/* Every session that has such a group here.  *out is malloc'ed. */
	int (*cell_list)(const struct provider *p, struct session_seen **out,
	    size_t *count, struct err *e);

	/*
	 * Who holds each limit: {"memoryMb":{"value":512,"by":"cgroup"},...}
	 * with by = cgroup, rlimit, watchdog or none, for diskMb quota,
	 * accounting or rlimit.  Never NULL.
	 */
	json_t *(
	    *limits)(const struct provider *p, const struct sandbox_spec *s);

	/* Tail of the agent's log of a sandbox, at most `max` bytes. */
	int (*agent_log)(const struct provider *p, const char *id, size_t max,
	    struct buf *out, struct err *e);

	/*
	 * Takes a snapshot of the session that `t` means, which goes on
	 * meanwhile.  Returns when it is over or the deadline is: then
	 * it goes on, and snapshot_look tells what comes of it.
	 */
	int (*snapshot_take)(const struct provider *p,
	    const struct snapshot_ref *s, const struct agent_target *t,
	    const struct snapshot_bounds *most, int64_t deadline_ms,
	    struct err *e);
	int (*snapshot_look)(const struct provider *p,
	    const struct snapshot_ref *s, struct snapshot_seen *out,
	    struct err *e);
	/* Moves one into the trash; ERR_BUSY while it is under way. */
	int (*snapshot_drop)(const struct provider *p,
	    const struct snapshot_ref *s, struct err *e);
	/* Every one that has a directory here.  *out is malloc'ed. */
	int (*snapshot_list)(const struct provider *p,
	    struct snapshot_ref **out, size_t *count, struct err *e);

	/*
	 * Unlinks what lies in the trash until it is empty or the deadline is
	 * over; *left says whether something remains.
	 */
	int (*sweep)(const struct provider *p, int64_t deadline_ms, bool *left,
	    struct err *e);
};

#endif
