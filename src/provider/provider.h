/*
 * provider.h: the interface to the code that makes sandboxes on a host.
 *
 * A provider is a const vtable.  It keeps no state in memory between calls.
 * Every call is idempotent on the sandbox id, has a deadline (of clock_ms())
 * and names an incarnation; a provider refuses a stale incarnation with code
 * "stale_incarnation".  An error is never "absent" and never an empty list.
 * Cells and wrappers inside a sandbox are the same for every provider: see
 * link/link.h.
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
#include "domain/usage.h"
#include "provider/handle.h"

enum {
	PROVIDER_PATH_MAX = 512,
	RUN_ID_MAX = ID_MAX + 8,   /* an execution's id and an attempt */
	PROVIDER_CELL_FDS_MAX = 4, /* cgroup.procs files of one cell */
	PROVIDER_METERS_MAX = 8
};

enum presence {
	PRESENCE_RUNNING,
	PRESENCE_STOPPED, /* no process runs, the sandbox's files exist */
	PRESENCE_ABSENT,  /* neither processes nor files */
	PRESENCE_UNKNOWN, /* the look failed: never taken as absent */
	PRESENCE__MAX
};

extern const char *const PRESENCE_NAMES[];

/* One sandbox that carries this installation's label. */
struct sandbox_seen {
	char id[SANDBOX_ID_MAX];
	char incarnation[ID_MAX]; /* "" when none is on record */
	enum presence presence;
	bool unanswered; /* the sandbox runs, its init has never answered */
};

/* The file system a sandbox's workspaces lie on. */
struct capacity {
	int64_t free_bytes; /* for the service's user, not for root */
	int64_t total_bytes;
	int64_t free_files, total_files; /* inodes; total 0: any number */
	int64_t room_bytes; /* disk_room() of these, compared with disk marks */
};

/* A session's directories, as the host made them. */
struct workspace {
	char session[ID_MAX];
	int64_t age_seconds; /* -1: not known */
};

/* A session that has files, a cgroup or a note in one of our sandboxes. */
struct session_seen {
	char sandbox[SANDBOX_ID_MAX];
	char session[ID_MAX];
	int64_t generation; /* of its cell; 0: not known */
};

enum { SNAPSHOT_OWNER_MAX = 33 };

/* Names a snapshot by its owner and its id. */
struct snapshot_ref {
	char owner[SNAPSHOT_OWNER_MAX]; /* 32 hexadecimal digits */
	char id[ID_MAX];                /* has the form of a session's id */
};

/* The most that a snapshot may have, and the longest that taking it lasts. */
struct snapshot_bounds {
	int64_t bytes, seconds;
};

enum snapshot_presence {
	SNAPSHOT_ABSENT,
	SNAPSHOT_UNDER_WAY, /* a job is writing it */
	SNAPSHOT_WHOLE,
	SNAPSHOT_BROKEN
};

struct snapshot_seen {
	enum snapshot_presence presence;
	int64_t files, bytes; /* of a whole one */
	struct err why;       /* of a broken one */
};

/*
 * A file that tells how much a run has used so far: the number after `key` and
 * a space or, without a key, the file's only number.  It is divided by `part`.
 * "procs" is the list of the run's processes instead.
 */
struct run_meter {
	const char *what; /* memoryPeak, oomKills, cpuUserUs, ..., procs */
	const char *key;  /* "": none */
	int64_t part;
	int fd;
};

/*
 * The cgroups of one run, and nothing of it where none is delegated.  Owned:
 * run_group_close().
 */
struct run_group {
	int join[PROVIDER_CELL_FDS_MAX]; /* a process writes 0 to join */
	size_t join_count;
	struct run_meter meter[PROVIDER_METERS_MAX];
	size_t meter_count;
	bool limits_memory, limits_pids;
};

#define auto_run_group __attribute__((cleanup(run_group_close)))
void run_group_close(struct run_group *g);
/* The meter of that name; NULL: there is none. */
const struct run_meter *run_group_meter(const struct run_group *g,
    const char *what);

/* A run in a cell, and what it may use; a limit of 0: none. */
struct run_spec {
	char sandbox[SANDBOX_ID_MAX];
	char session[ID_MAX];
	char run[RUN_ID_MAX];
	int64_t memory_mb, pids;
};

struct agent_target; /* domain/agent.h */

struct provider_ops {
	const char *name;

	/* Sets up directories and cgroups; cheap: every worker calls it. */
	int (*open)(const struct provider *p, struct err *e);
	/* Checks what open() cannot see, by starting a trial sandbox. */
	int (*check)(const struct provider *p, struct err *e);
	/*
	 * Checks, without starting anything, that the directories and programs
	 * of this host are still there.  The message of ERR_UNAVAILABLE
	 * "host_not_ready" names the missing one.
	 */
	int (*ready)(const struct provider *p, struct err *e);

	/*
	 * Creates, starts or adopts exactly this incarnation; returns when its
	 * init answers.  A running older incarnation is stopped first (it is
	 * garbage).  The call is stale if a newer incarnation runs or is on
	 * record.  It is also stale if this incarnation has started once and
	 * is over (stopped, destroyed, died): it never starts again, because
	 * the seals of its init are lost.
	 */
	int (*ensure)(const struct provider *p, const struct sandbox_spec *s,
	    int64_t deadline_ms, struct err *e);

	/*
	 * Tells whether the sandbox runs and has files; changes nothing.  A
	 * look that fails is PRESENCE_UNKNOWN with the reason in *e, and the
	 * function returns 0; a provider may also return -1.
	 */
	int (*inspect)(const struct provider *p, const char *id,
	    struct sandbox_seen *out, struct err *e);

	/* Lists the installation's sandboxes here.  *out is malloc'ed. */
	int (*list)(const struct provider *p, struct sandbox_seen **out,
	    size_t *count, struct err *e);

	/*
	 * Kills every process and waits until none is left; files stay.  Stale
	 * when another incarnation runs; success when nothing runs.
	 */
	int (*stop)(const struct provider *p, const char *id,
	    const char *incarnation, int64_t deadline_ms, struct err *e);

	/*
	 * Stops the sandbox, moves its files into the trash and removes its
	 * box, except for a tombstone that refuses a late ensure.  Also stale
	 * when the incarnation is known to be older than the one on record:
	 * the files belong to the newer one.
	 */
	int (*destroy)(const struct provider *p, const char *id,
	    const char *incarnation, int64_t deadline_ms, struct err *e);

	/*
	 * Begins to stop or destroy a sandbox and does not wait: the processes
	 * of several sandboxes then die side by side.  Behind the same fence.
	 * Does nothing where it cannot; stop or destroy must follow anyway.
	 * Optional: NULL.
	 */
	void (*begin_end)(const struct provider *p, const char *id,
	    const char *incarnation, bool destroy);

	/*
	 * Freeze one session with all its memory, and thaw it.  Optional: NULL,
	 * or "cannot_suspend" where the machine cannot.  `order` is the session
	 * row's suspend_order; an order older than the last one that was
	 * carried out is refused with "stale_order".  suspend returns once the
	 * kernel says that every process is frozen.
	 */
	int (*suspend)(const struct provider *p, const struct agent_target *t,
	    int64_t order, int64_t deadline_ms, struct err *e);
	int (*resume)(const struct provider *p, const struct agent_target *t,
	    int64_t order, int64_t deadline_ms, struct err *e);

	/*
	 * Thaws the cells of a sandbox whose init is dead: frozen processes do
	 * not die with their init, so inspect would say PRESENCE_RUNNING of
	 * such a sandbox for ever.  Does nothing and returns 0 while init
	 * listens, or when it cannot be reached for another reason.
	 */
	int (*thaw_orphans)(const struct provider *p, const char *id,
	    struct err *e);

	/* Connects to init's control channel.  Returns the descriptor. */
	int (*open_channel)(const struct provider *p, const char *id,
	    const char *incarnation, struct err *e);

	/*
	 * storage_id reads the id of this host's storage, "" when it has none
	 * yet; *empty: no sandbox has a directory there.  storage_mark gives
	 * the storage an id unless it has one.  storage_check fails with
	 * ERR_UNAVAILABLE when the storage is missing or its id is not
	 * `storage_id` of struct provider.  All three are NULL for a provider
	 * whose files cannot be on another disk.
	 */
	int (*storage_id)(const struct provider *p, char id[STORAGE_ID_MAX],
	    bool *empty, struct err *e);
	int (*storage_mark)(const struct provider *p, const char *id,
	    struct err *e);
	int (*storage_check)(const struct provider *p, struct err *e);

	/*
	 * Make a session's directories (idempotent), look for them, move them
	 * into the trash (success when there are none).
	 */
	int (*storage_make)(const struct provider *p, const char *id,
	    const char *session, struct err *e);
	int (*storage_exists)(const struct provider *p, const char *id,
	    const char *session, bool *out, struct err *e);
	int (*storage_drop)(const struct provider *p, const char *id,
	    const char *session, struct err *e);

	/*
	 * Makes a session's directories and copies a snapshot's files into
	 * them, all of them or nothing.  Idempotent.  ERR_BUSY "copying" when
	 * the copy takes longer than the deadline: the copy goes on, and a
	 * later call finds its result.
	 */
	int (*storage_from)(const struct provider *p, const char *id,
	    const char *session, const struct snapshot_ref *s,
	    int64_t deadline_ms, struct err *e);

	/* Lists the sessions that have a directory here.  *out is malloc'ed. */
	int (*storage_list)(const struct provider *p, struct session_seen **out,
	    size_t *count, struct err *e);

	/* Lists the session directories of one sandbox.  *out is malloc'ed. */
	int (*workspaces)(const struct provider *p, const char *id,
	    struct workspace **out, size_t *count, struct err *e);

	/*
	 * Measures the file system on which a sandbox's workspaces are or will
	 * be; id "" means that of state_dir.
	 */
	int (*capacity)(const struct provider *p, const char *id,
	    struct capacity *out, struct err *e);
	/*
	 * Whether that file system is the sandbox's own, so that files of other
	 * sandboxes cannot fill it.  False when that is not known.
	 */
	bool (*own_disk)(const struct provider *p, const char *id);

	/*
	 * Makes the ballast: a file of that many bytes on the file system of
	 * the workspaces, whose removal frees room at once.  0 removes the
	 * ballast.  Idempotent.
	 */
	int (*ballast)(const struct provider *p, int64_t bytes, struct err *e);
	/* The ballast's size in bytes; 0 when there is none. */
	int64_t (*ballast_size)(const struct provider *p);

	/*
	 * Freezes a cell because the disk is full (`on`), or thaws it.  A cell
	 * that is frozen, or may be, is on record until it is thawed.  Thawing
	 * a cell that was not frozen, or is gone, is success.
	 */
	int (*cell_freeze)(const struct provider *p,
	    const struct session_seen *s, bool on, struct err *e);
	/* Lists the cells on record as frozen.  *out is malloc'ed. */
	int (*frozen)(const struct provider *p, struct session_seen **out,
	    size_t *count, struct err *e);

	/*
	 * cell_open makes a cell's cgroups with their limits and opens them for
	 * the cell to join; *count is 0 where no cgroup is delegated.
	 * cell_gone says whether the kernel counts no process there any more,
	 * without asking the agent, and then removes the groups.
	 */
	int (*cell_open)(const struct provider *p, const struct sandbox_spec *s,
	    const char *session, int fds[PROVIDER_CELL_FDS_MAX], size_t *count,
	    struct err *e);
	int (*cell_gone)(const struct provider *p, const char *id,
	    const char *session, bool *gone, struct err *e);
	/*
	 * run_open makes the cgroups of one run in a cell, and run_remove
	 * removes them once they are empty; both are idempotent.
	 */
	int (*run_open)(const struct provider *p, const struct run_spec *r,
	    struct run_group *out, struct err *e);
	int (*run_remove)(const struct provider *p, const struct run_spec *r,
	    int64_t deadline_ms, struct err *e);
	/* Lists the sessions that have such a group.  *out is malloc'ed. */
	int (*cell_list)(const struct provider *p, struct session_seen **out,
	    size_t *count, struct err *e);

	/*
	 * Measures the processes of the session t->session or, if that is "",
	 * of the whole sandbox.  Starts nothing.  A number that the host cannot
	 * find out is -1; t->generation does not matter.
	 */
	int (*usage)(const struct provider *p, const struct agent_target *t,
	    int64_t deadline_ms, struct usage *out, struct err *e);

	/*
	 * Tells which mechanism enforces each limit:
	 * {"memoryMb":{"value":512,"by":"cgroup"},...} with by = cgroup,
	 * rlimit, watchdog or none, for diskMb quota, accounting, rlimit or
	 * none.  Never NULL.
	 */
	json_t *(
	    *limits)(const struct provider *p, const struct sandbox_spec *s);

	/* Appends the last `max` bytes of the agent's log in a sandbox. */
	int (*agent_log)(const struct provider *p, const char *id, size_t max,
	    struct buf *out, struct err *e);

	/*
	 * Takes a snapshot of the session `t`, whose processes run on
	 * meanwhile.  If the deadline comes first the function returns 0 and a
	 * job goes on with the snapshot; snapshot_look tells how it ended.
	 */
	int (*snapshot_take)(const struct provider *p,
	    const struct snapshot_ref *s, const struct agent_target *t,
	    const struct snapshot_bounds *most, int64_t deadline_ms,
	    struct err *e);
	int (*snapshot_look)(const struct provider *p,
	    const struct snapshot_ref *s, struct snapshot_seen *out,
	    struct err *e);
	/* Moves a snapshot into the trash; ERR_BUSY while it is being taken. */
	int (*snapshot_drop)(const struct provider *p,
	    const struct snapshot_ref *s, struct err *e);
	/* Lists the snapshots on this host.  *out is malloc'ed. */
	int (*snapshot_list)(const struct provider *p,
	    struct snapshot_ref **out, size_t *count, struct err *e);

	/*
	 * Unlinks the files in the trash until the trash is empty or the
	 * deadline is over; *left says whether something remains.  Also removes
	 * old tombstones, unused cgroups and, on a full disk, spare copies of
	 * snapshots.
	 */
	int (*sweep)(const struct provider *p, int64_t deadline_ms, bool *left,
	    struct err *e);
};

#endif
