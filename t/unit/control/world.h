/*
 * world.h: runs control/ with a real database and the provider in memory.
 *
 * For the *_world programs, which the scripts of t/control run against a throw-away
 * PostgreSQL ($SANDLEASE_CONFIG says where).  Each test begins with no
 * session, no sandbox and a fake that has forgotten everything.
 */
#ifndef SANDLEASE_UNIT_WORLD_H
#define SANDLEASE_UNIT_WORLD_H

#include "../../lib/fake/fake.h"
#include "../unit.h"

#include "control/control.h"
#include "control/session_control.h"
#include "domain/state.h"
#include "reaper/parts.h"

enum { WORLD_TEXT_MAX = 1024, WORLD_WAIT_MS = PATIENCE_MS };

struct world {
	struct conf conf;
	struct control ctl;
	struct principal who;
	char id[ID_MAX]; /* of the session that world_create() made last */
	char box[SANDBOX_ID_MAX]; /* and its sandbox */
	int made;                 /* how many sessions it has made */
	char text[WORLD_TEXT_MAX];
};

/* cmocka's set-up and tear-down; *state is a struct world.  A lock that is left
 * at the end is a failure. */
int world_begin(void **state);
int world_end(void **state);

/* The answer of a query: columns divided by '|', rows by a blank. */
const char *world_ask(struct world *w, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* "session lease generation sandbox" of the session at hand. */
const char *world_state(struct world *w);

/* The session's lease and state events so far, in their order. */
const char *world_story(struct world *w);

/* The reason of the session's stop request. */
const char *world_stop_reason(struct world *w);

/* The steps of the last start: step, how, and "!" at the one that failed. */
const char *world_steps(struct world *w);

/* Creates a session; 0 or -1 and *e as session_control_create() says. */
int world_create(struct world *w, enum isolation how, struct err *e);

/* Creates a session that must become ready. */
void world_ready(struct world *w, enum isolation how);

/* Resumes the session at hand. */
int world_resume(struct world *w, struct err *e);

/* Makes the next attempt of a stop due now. */
void world_make_due(struct world *w);

/* Whether nginx would find the session at hand, in that generation. */
bool world_has_socket(const struct world *w, int64_t generation);

/* Makes the configuration that of another host. */
void world_move(struct world *w);

/* Runs a pass of the reaper and returns its counts. */
struct pass world_reap(struct world *w);

/* These need a `struct err e` in scope. */
#define SUCCEEDS(call)                                                         \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s", code_word(e.code), e.msg);          \
	} while (0)
#define FAILS(call, with)                                                      \
	do {                                                                   \
		assert_int_equal((call), -1);                                  \
		assert_code(e.code, with);                                     \
	} while (0)

#define WORLD_TEST(f) cmocka_unit_test_setup_teardown(f, world_begin, world_end)

#endif
