/*
 * cells.h: the cells of a sandbox.
 *
 * Values only: nothing here starts or stops a process.
 */
#ifndef SANDLEASE_AGENT_INIT_CELLS_H
#define SANDLEASE_AGENT_INIT_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/id.h"
#include "common/json.h"

enum { CELLS_MAX = 256, FREEZER_WORD_MAX = 16 };

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

struct cells {
	struct cell *cell;
	size_t count;
};

struct cell *cells_find(const struct cells *t, const char *session);
struct cell *cells_by_pid(const struct cells *t, pid_t pid);

/* Adds a copy and returns it; pointers from before are void. */
int cells_add(struct cells *t, const struct cell *c, struct err *e) MUST_CHECK;

/* Closes its channel and forgets it; pointers from before are void. */
void cells_remove(struct cells *t, struct cell *c);

/* [{"instance","generation"}] of one session. */
json_t *cells_wrappers(const struct cells *t, const char *session);
/* [{"session","instance","generation"}] of all. */
json_t *cells_list(const struct cells *t);

#endif
