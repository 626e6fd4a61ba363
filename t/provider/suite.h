/* suite.h: the helpers that the parts of the conformance suite share. */
#ifndef SANDLEASE_T_PROVIDER_SUITE_H
#define SANDLEASE_T_PROVIDER_SUITE_H

#include "../unit/unit.h"

#include <sys/types.h>

#include "provider/link/link.h"
#include "provider/provider.h"

enum { SUITE_PATH_MAX = 256 };

/* The settings and the provider of this run. */
extern struct conf CONF;
extern struct provider P;

/* The error of the last call. */
extern struct err E;

#define works(call)                                                            \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s (%s)", #call, E.msg,                  \
			    code_word(E.code));                                \
	} while (0)

#define refuses(call, with)                                                    \
	do {                                                                   \
		assert_int_equal((call), -1);                                  \
		assert_code(E.code, with);                                     \
	} while (0)

/* The tests of each part; one without a name ends the list. */
extern const struct CMUnitTest SUITE_BOXES[];
extern const struct CMUnitTest SUITE_CELLS[];
extern const struct CMUnitTest SUITE_DISK[];
extern const struct CMUnitTest SUITE_SNAPSHOTS[];
extern const struct CMUnitTest SUITE_USAGE[];
/* only for providers with a host */
extern const struct CMUnitTest SUITE_WORK[];
extern const struct CMUnitTest SUITE_RUNS[];
extern const struct CMUnitTest SUITE_HOST[];
extern const struct CMUnitTest SUITE_RECORDS[];
extern const struct CMUnitTest SUITE_JOBS[];
extern const struct CMUnitTest SUITE_LAUNCHER[];

bool is_local(void);

/* Whether sandlease-launch starts sandboxes, and not bwrap. */
bool launches_itself(void);
/*
 * Uses a launcher that begins when the test writes to the fifo *gate.  The
 * caller puts CONF back and closes the gate.
 */
void use_slow_launcher(int *gate);

/* A deadline far away. */
int64_t soon(void);

/* A new sandbox for each test, with limits far away. */
struct sandbox_spec a_sandbox(void);
/* A new session of a sandbox, with its directories and generation 1. */
struct agent_target a_target(const struct sandbox_spec *s);
/* The next incarnation of the same sandbox. */
struct sandbox_spec after(const struct sandbox_spec *s);

enum presence presence(const char *id);
void ensure(const struct sandbox_spec *s);
void destroy(const struct sandbox_spec *s);
int ping(const struct sandbox_spec *s, struct err *e);

/* The recorded processes of a sandbox; the host's pid of init or bwrap. */
json_t *recorded_procs(const char *id);
pid_t recorded(const char *id, const char *who);

/* Kills init without the provider and waits until the provider sees it. */
void crash(const char *id);

bool is_listed(const struct provider *p, const char *id,
    struct sandbox_seen *out);

#endif
