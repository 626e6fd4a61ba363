/*
 * fake_world.h: what fake.c and fake_agent.c share.
 */
#ifndef SANDLEASE_PROVIDER_FAKE_WORLD_H
#define SANDLEASE_PROVIDER_FAKE_WORLD_H

#include <pthread.h>

#include "common/channel.h"
#include "provider/fake.h"
#include "provider/record.h"

enum { FAKE_BOXES = 64, FAKE_CELLS = 128, FAKE_OP_MAX = 32 };

struct fake_box {
	char id[SANDBOX_ID_MAX]; /* "": free */
	struct record record;
	bool runs;
};

struct fake_cell {
	char box[SANDBOX_ID_MAX]; /* "": free */
	char session[ID_MAX];
	char instance[ID_MAX];
	int64_t generation; /* 0: only storage or a seal */
	int64_t sealed;
	bool storage;
	struct channel_fds fds; /* its listening sockets */
};

struct fake_world {
	pthread_mutex_t lock;
	struct fake_box box[FAKE_BOXES];
	struct fake_cell cell[FAKE_CELLS];
	struct agent_status status;
	bool stubborn, immortal;
};

extern struct fake_world FAKE;

/* Counts a call and says how it is to go. */
enum fake_how fake_next(const char *op);

/* With the lock held.  NULL: there is none (and `make` is false). */
struct fake_box *fake_find_box(const char *id, bool make);
struct fake_cell *fake_find_cell(const char *id, const char *session,
    bool make);
void fake_end_cell(struct fake_cell *c);
void fake_end_box(struct fake_box *b);

/* One end of a channel whose other end a thread answers. */
int fake_connect(const char *id, struct err *e);
/* Waits for all such threads. */
void fake_join(void);

#endif
