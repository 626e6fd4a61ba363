/*
 * cells.h: the cells of a sandbox, and the generations that are over.
 *
 * Values only: nothing here starts or stops a process.  A sealed generation
 * is never forgotten, because forgetting one would let a late launch through.
 */
#ifndef SANDLEASE_AGENT_CELLS_H
#define SANDLEASE_AGENT_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/id.h"
#include "common/json.h"

enum { CELLS_MAX = 256, SEALS_MAX = 65536, FREEZER_WORD_MAX = 16 };

struct cell {
	char session[ID_MAX];
	char instance[ID_MAX];
	int64_t generation;
	pid_t pid;
	int channel;       /* to its wrapper; owned, -1 once it has failed */
	bool serving;      /* the wrapper has said so */
	int64_t start_by;  /* of clock_ms(): else it is killed */
	int64_t memory_mb; /* for the watchdog; 0: a cgroup holds it */
	int64_t disk_mb;   /* what its sandbox may have on disk; 0: any */
	int64_t order; /* of the last freeze or thaw; older ones are refused */
	int freezer;   /* owned; -1: it is not frozen */
	char thawed[FREEZER_WORD_MAX]; /* what to write there to let it go */
};

struct seal {
	char session[ID_SESSION_LEN + 1];
	int64_t generation;
};

struct cells {
	struct cell *cell;
	size_t count;
	struct seal *seals;
	size_t seal_count;
};

struct cell *cells_find(const struct cells *t, const char *session);
struct cell *cells_by_pid(const struct cells *t, pid_t pid);

/* Adds a copy and returns it; pointers from before are void. */
int cells_add(struct cells *t, const struct cell *c, struct err *e) MUST_CHECK;

/* Closes its channel and forgets it; pointers from before are void. */
void cells_remove(struct cells *t, struct cell *c);

/* The highest sealed generation, 0 when none is. */
int64_t cells_sealed(const struct cells *t, const char *session);
int cells_seal(struct cells *t, const char *session, int64_t generation,
    struct err *e) MUST_CHECK;

/* [{"instance","generation"}] of one session. */
json_t *cells_wrappers(const struct cells *t, const char *session);
/* [{"session","instance","generation"}] of all. */
json_t *cells_list(const struct cells *t);

#endif
