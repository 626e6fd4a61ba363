/* world.h: state and functions that the files of the fake provider share. */
#ifndef SANDLEASE_FAKE_WORLD_H
#define SANDLEASE_FAKE_WORLD_H

#include <pthread.h>

#include "common/channel.h"
#include "fake.h"
#include "provider/box/record.h"

enum {
	FAKE_BOXES = 64,
	FAKE_CELLS = 128,
	FAKE_SNAPSHOTS = 16,
	FAKE_OP_MAX = 32
};

struct fake_box {
	char id[SANDBOX_ID_MAX]; /* "": free */
	struct record record;
	bool runs;
};

struct fake_cell {
	char box[SANDBOX_ID_MAX]; /* "": free */
	char session[ID_MAX];
	char instance[ID_MAX];
	int64_t generation; /* 0: the cell is only storage or a seal */
	int64_t sealed;
	bool storage, frozen;
	bool twin;             /* a second wrapper has the same ids */
	int64_t age;           /* of the storage, in seconds */
	int64_t usage, growth; /* bytes */
	struct fake_measure measure;
	struct usage load;      /* not running: as an idle cell */
	struct channel_fds fds; /* its listening sockets */
	char from[ID_MAX];      /* the storage's snapshot */
};

struct fake_snapshot {
	struct snapshot_ref ref; /* id "": free */
	enum snapshot_presence presence;
};

struct fake_world {
	pthread_mutex_t lock;
	struct fake_box box[FAKE_BOXES];
	struct fake_cell cell[FAKE_CELLS];
	struct fake_snapshot snapshot[FAKE_SNAPSHOTS];
	struct agent_status status;
	bool stubborn, immortal, old;
	int64_t free_mb, more_mb, ballast, free_files;
	bool own_disk;
};

enum { FAKE_FREE_MB = 1 << 20, FAKE_FILES = 1 << 20 };

extern struct fake_world FAKE;

/* Keeps a message for fake_said(). */
void fake_note(const char *op, json_t *message);

/* Counts a call and returns how the script lets it end. */
enum fake_how fake_next(const char *op);

/* With the lock held.  NULL: not found (and `make` is false). */
struct fake_box *fake_find_box(const char *id, bool make);
struct fake_cell *fake_find_cell(const char *id, const char *session,
    bool make);
void fake_end_cell(struct fake_cell *c);
void fake_end_box(struct fake_box *b);

/* How an operation begins and ends, for ops.c, disk.c and snapshot.c. */
int fake_play(const char *op, int64_t deadline_ms, bool *lose, struct err *e);
int fake_begin(const char *op, bool *lose, struct err *e);
int fake_finish(int rc, bool lose, struct err *e);

int fake_workspaces(const struct provider *p, const char *id,
    struct workspace **out, size_t *count, struct err *e);
int fake_measure(const struct provider *p, const char *id, struct capacity *out,
    struct err *e);
bool fake_own_disk(const struct provider *p, const char *id);
int fake_ballast(const struct provider *p, int64_t bytes, struct err *e);
int64_t fake_ballast_size(const struct provider *p);
int fake_freeze(const struct provider *p, const struct session_seen *s, bool on,
    struct err *e);
int fake_frozen(const struct provider *p, struct session_seen **out,
    size_t *count, struct err *e);

int fake_snapshot_take(const struct provider *p, const struct snapshot_ref *s,
    const struct agent_target *t, const struct snapshot_bounds *most,
    int64_t deadline_ms, struct err *e);
int fake_snapshot_look(const struct provider *p, const struct snapshot_ref *s,
    struct snapshot_seen *out, struct err *e);
int fake_snapshot_drop(const struct provider *p, const struct snapshot_ref *s,
    struct err *e);
int fake_snapshot_list(const struct provider *p, struct snapshot_ref **out,
    size_t *count, struct err *e);
int fake_storage_from(const struct provider *p, const char *id,
    const char *session, const struct snapshot_ref *s, int64_t deadline_ms,
    struct err *e);

int fake_measure_usage(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct usage *out, struct err *e);

/* Returns one end of a channel; a thread answers at the other end. */
int fake_connect(const char *id, struct err *e);
/* Waits for all threads of fake_connect(). */
void fake_join(void);

#endif
