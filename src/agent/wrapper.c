/* wrapper.c: the process that serves one session. */
#include "agent/wrapper.h"

#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "agent/activity.h"
#include "agent/envset.h"
#include "agent/launch.h"
#include "agent/relay.h"
#include "agent/routes.h"
#include "agent/serve.h"
#include "agent/shell.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

enum { LAUNCH_MS = 10000, FOREVER_MS = 1000 * 1000 * 1000 };

/* Small by choice: a host has many of us. */
static void
save_memory(void)
{
	mallopt(M_ARENA_MAX, 1);
	mallopt(M_TRIM_THRESHOLD, 64 * 1024);
	mallopt(M_MMAP_THRESHOLD, 64 * 1024);
}

static int
open_ports(const struct launch *l, struct channel_fds *fds, struct err *e)
{
	for (size_t i = 0; i < l->port_count; i++) {
		int fd = channel_fds_take(fds, 1 + i);

		if (fd < 0)
			return err_set(e, ERR_INVALID, "launch_failed",
			    "no socket for port %d", l->ports[i]);
		if (relay_expose(l->ports[i], fd, e) < 0)
			return -1;
	}
	return 0;
}

static int
begin(struct err *e)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_json json_t *msg = NULL;
	auto_json json_t *answer = json_pack("{s:b}", "ok", 1);
	struct launch l;
	int data;

	if (channel_recv(WRAPPER_CHANNEL, clock_ms() + LAUNCH_MS, &msg, &fds,
		e) < 0 ||
	    launch_decode(msg, &l, e) < 0 ||
	    (l.env != NULL && envset_merge(l.env, e) < 0))
		return -1;
	log_open("sandlease-wrapper", l.log_level, l.log_format);
	log_context("", l.session);
	envset_open(l.session, l.user);
	shell_open(l.instance);
	routes_open(l.session);
	data = channel_fds_take(&fds, 0);
	if (data < 0)
		return err_set(e, ERR_INVALID, "launch_failed",
		    "no socket to serve on");
	if (serve_start(data, routes_handle, e) < 0 ||
	    open_ports(&l, &fds, e) < 0)
		return -1;
	return channel_send(WRAPPER_CHANNEL, answer, NULL, 0, e);
}

static void
say_failure(const struct err *e)
{
	auto_json json_t *msg = json_pack("{s:b, s:s, s:s}", "ok", 0, "code",
	    "launch_failed", "message", e->msg);
	struct err ignored;

	(void)!channel_send(WRAPPER_CHANNEL, msg, NULL, 0, &ignored);
	log_err(LOG_ERROR, "launch_failed", e);
}

int
wrapper_main(void)
{
	struct err e = { 0 };

	/* nobody of the tenant's reads our memory or takes our sockets */
	prctl(PR_SET_DUMPABLE, 0);
	prctl(PR_SET_NAME, "sandlease-wrap");
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	save_memory();
	if (begin(&e) < 0) {
		say_failure(&e);
		return EXIT_FAILURE;
	}
	activity_touch();
	log_line(LOG_INFO, "serving", "version %s", PACKAGE_VERSION);
	for (;;) {
		struct channel_fds fds = { .count = 0 };
		json_t *msg = NULL;

		if (channel_recv(WRAPPER_CHANNEL, clock_ms() + FOREVER_MS, &msg,
			&fds, &e) < 0) {
			if (str_equal(e.code, "peer_closed"))
				return EXIT_SUCCESS;
			continue;
		}
		if (fds.count == 0) {
			json_release(&msg);
			continue;
		}
		wrapper_op(msg, &fds, channel_fds_take(&fds, fds.count - 1));
	}
}
