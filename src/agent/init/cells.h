/*
 * cells.h: keeps init's table of cells.
 *
 * It is data only: no function here starts or stops a process.
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
	int channel;       /* to its wrapper; owned; -1: the start has failed */
	bool serving;      /* the wrapper has reported that it serves */
	int64_t start_by;  /* clock_ms(): killed if it does not serve by then */
	int64_t memory_mb; /* limit for the watchdog; 0: a cgroup limits it */
	int64_t disk_mb;   /* disk limit of its sandbox; 0: none */
	int64_t order; /* of the last freeze or thaw; older ones are refused */
	int freezer;   /* file that freezes it; owned; -1: not frozen */
	char thawed[FREEZER_WORD_MAX]; /* written to `freezer`, it thaws */
	/* connection of egress; owned; its end says that the cell has ended */
	int egress; /* -1: none */
};

struct cells {
	struct cell *cell;
	size_t count;
};

struct cell *cells_find(const struct cells *t, const char *session);
struct cell *cells_by_pid(const struct cells *t, pid_t pid);

/* Adds a copy of *c; earlier pointers to cells become invalid. */
int cells_add(struct cells *t, const struct cell *c, struct err *e) MUST_CHECK;

/* Removes a cell and closes its descriptors; earlier pointers are invalid. */
void cells_remove(struct cells *t, struct cell *c);

/* [{"instance","generation"}] of one session. */
json_t *cells_wrappers(const struct cells *t, const char *session);
/* [{"session","instance","generation"}] of all. */
json_t *cells_list(const struct cells *t);

#endif
