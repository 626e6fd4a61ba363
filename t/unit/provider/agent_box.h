/* agent_box.h: a sandbox of the fake with one session, to test its agent. */
#ifndef SANDLEASE_UNIT_AGENT_BOX_H
#define SANDLEASE_UNIT_AGENT_BOX_H

#include "../../lib/fake/fake.h"
#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "provider/choose/choose.h"

static char BASE[] = "/tmp/sllinkXXXXXX";
static struct conf CONF;
static struct provider P;
static const struct sandbox_spec BOX = { .id = "ses-x",
	.incarnation = "aaaaaaaaaaaaaaaa",
	.epoch = 1,
	.memory_mb = 64 };
static const struct agent_target TARGET = { .sandbox = "ses-x",
	.incarnation = "aaaaaaaaaaaaaaaa",
	.session = "cccccccccccccccccccc",
	.generation = 3,
	.instance = "iiiiiiiiiiiiiiii" };
static const struct agent_launch LAUNCH = { .ports = { 8080, 9090 },
	.port_count = 2 };

static inline int64_t
soon(void)
{
	return clock_ms() + PATIENCE_MS;
}

static inline int
set_up(void **state)
{
	(void)state;
	if (mkdtemp(BASE) == NULL)
		return -1;
	snprintf(CONF.run_dir, sizeof(CONF.run_dir), "%s", BASE);
	return 0;
}

static inline int
tear_down(void **state)
{
	auto_free char *s = xasprintf("%s/s", BASE);

	(void)state;
	return rmdir(s) < 0 ? -1 : rmdir(BASE);
}

/* Starts a sandbox for each test. */
static inline int
begin(void **state)
{
	struct err e = { 0 };

	(void)state;
	fake_reset();
	return provider_open_ops(&PROVIDER_FAKE, &CONF, "a", &P, &e) < 0
	    ? -1
	    : P.ops->ensure(&P, &BOX, soon(), &e);
}

static inline int
finish(void **state)
{
	(void)state;
	fake_reset();
	agent_unlink_sockets(&CONF, TARGET.session, INT64_MAX);
	return 0;
}

/* An agent with a canned reply; the request can be read at THEIR_END. */
static const char *CANNED;
static int THEIR_END;

static inline int
canned_control(const struct provider *p, const char *id,
    const char *incarnation, struct err *e)
{
	int pair[2];

	(void)p, (void)id, (void)incarnation;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "socketpair");
	if (send(pair[1], CANNED, strlen(CANNED), 0) < 0)
		return err_errno(e, "send");
	/* the other end stays open until the process ends: no reset comes */
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	THEIR_END = pair[1];
	return pair[0];
}

#endif
