/* service.c: runs the event loop for the WebSockets of one session. */
#include "ws/service.h"

#include <libwebsockets.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/wslink.h"
#include "ws/link.h"
#include "ws/request.h"

enum {
	CONNECTIONS_MAX = 256,
	FILES_MAX = 3 * CONNECTIONS_MAX + 128,
	GOODBYE_MS = 50,
	PING_SECONDS = 25,   /* keeps nginx and other proxies from closing */
	HANGUP_SECONDS = 75, /* a client that answers no ping has gone */
	HANDSHAKE_SECONDS = 10,
	READ_BYTES = 16 * 1024
};

_Static_assert((int)READ_BYTES <= (int)WSLINK_MAX, "a read is one packet");

static struct lws_context *context;
static lws_sorted_usec_list_t end_timer;
static size_t connections; /* of clients, also during the handshake */
static volatile sig_atomic_t leaving;
static bool done;

static void
end_now(lws_sorted_usec_list_t *timer)
{
	(void)timer;
	done = true;
	lws_cancel_service(context);
}

static void
end_in_ms(int64_t ms)
{
	lws_sul_schedule(context, 0, &end_timer, end_now, ms * LWS_US_PER_MS);
}

/* ---- connections */

/*
 * A client's connection, and our own descriptor of its pair.  libwebsockets
 * closes its descriptors before it has sent the last frame.  This one stays
 * open until then: the wrapper cuts the connection when the pair is closed.
 */
struct guest {
	int pair;
};

/* NULL if wsi is not a client's connection. */
static struct guest *
guest_of(struct lws *wsi)
{
	return lws_get_opaque_user_data(wsi);
}

static void
forget_guest(struct lws *wsi)
{
	struct guest *g = guest_of(wsi);

	if (g == NULL)
		return;
	close(g->pair);
	free(g);
	lws_set_opaque_user_data(wsi, NULL);
	connections--;
}

static void
adopt_guest(struct lws_vhost *host, struct channel_fds *fds)
{
	lws_sock_file_fd_type d = { .sockfd =
					channel_fds_take(fds, WSLINK_CLIENT) };
	int pair = channel_fds_take(fds, WSLINK_PAIR);
	struct guest *g;
	struct lws *wsi;

	/* on failure libwebsockets closes the descriptor */
	wsi = d.sockfd >= 0 && pair >= 0
	    ? lws_adopt_descriptor_vhost(host,
		  LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP, d, NULL, NULL)
	    : NULL;
	if (wsi == NULL) {
		mem_close_fd(&pair);
		return;
	}
	g = xmalloc(sizeof(*g));
	g->pair = pair;
	lws_set_opaque_user_data(wsi, g);
	connections++;
}

static int
on_control(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_json json_t *msg = NULL;
	struct err e = { 0 };

	(void)user, (void)in, (void)len;
	if (reason == LWS_CALLBACK_RAW_CLOSE_FILE)
		end_in_ms(0);
	if (reason != LWS_CALLBACK_RAW_RX_FILE)
		return 0;
	if (channel_recv(WSLINK_CONTROL, clock_ms(), &msg, &fds, &e) == 0)
		adopt_guest(lws_get_vhost(wsi), &fds);
	else if (e.code != CODE_TIMED_OUT)
		end_in_ms(0); /* the wrapper has closed the channel */
	return 0;
}

static int
on_connection(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	switch ((int)reason) {
	case LWS_CALLBACK_HTTP:
		return request_refuse(wsi);
	case LWS_CALLBACK_HTTP_CONFIRM_UPGRADE:
		return request_admit(wsi, connections > CONNECTIONS_MAX) ? 0
									 : -1;
	case LWS_CALLBACK_ESTABLISHED:
		return link_open(user, wsi, guest_of(wsi)->pair);
	case LWS_CALLBACK_RECEIVE:
		return link_receive(user, in, len);
	case LWS_CALLBACK_SERVER_WRITEABLE:
		return link_writable(user, leaving != 0);
	case LWS_CALLBACK_TIMER:
		link_timer(user);
		return 0;
	case LWS_CALLBACK_CHILD_CLOSING:
		link_lost(user);
		return 0;
	case LWS_CALLBACK_CLOSED:
		link_close(user);
		return 0;
	case LWS_CALLBACK_WSI_DESTROY:
		forget_guest(wsi);
		return 0;
	default:
		return 0;
	}
}

/* The first one is for all clients. */
static const struct lws_protocols PROTOCOLS[] = {
	{ "", on_connection, sizeof(struct link), READ_BYTES },
	{ LINK_WRAPPER, link_wrapper, 0, 0 },
	{ "control", on_control, 0, 0 },
	{ NULL, NULL, 0, 0 },
};

static const lws_retry_bo_t LIFE = {
	.secs_since_valid_ping = PING_SECONDS,
	.secs_since_valid_hangup = HANGUP_SECONDS,
};

/* ---- begin and end of the program */

/*
 * Ignores SIGTERM of the cell's first process, which sends it to all processes
 * at the session's end.  The wrapper still sends messages to clients then, and
 * sends SIGTERM itself when it has finished.
 */
static void
on_term(int sig, siginfo_t *info, void *context_of_signal)
{
	(void)sig, (void)context_of_signal;
	if (info->si_pid == 1)
		return;
	leaving = 1;
	if (context != NULL)
		lws_cancel_service(context);
}

static struct lws *
adopt_file(struct lws_vhost *host, int fd, const char *protocol)
{
	lws_sock_file_fd_type d = { .filefd = fd };

	return lws_adopt_descriptor_vhost(host, LWS_ADOPT_RAW_FILE_DESC, d,
	    protocol, NULL);
}

static int
open_service(void)
{
	struct lws_context_creation_info info = {
		.port = CONTEXT_PORT_NO_LISTEN_SERVER,
		.protocols = PROTOCOLS,
		.options = LWS_SERVER_OPTION_VALIDATE_UTF8 |
		    LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
		.fd_limit_per_thread = FILES_MAX,
		.pt_serv_buf_size = READ_BYTES,
		.timeout_secs = HANDSHAKE_SECONDS,
		.retry_and_idle_policy = &LIFE,
		.vhost_name = "session",
		.gid = (gid_t)-1,
		.uid = (uid_t)-1,
	};
	struct lws_vhost *host;

	context = lws_create_context(&info);
	if (context == NULL)
		return -1;
	host = lws_create_vhost(context, &info);
	if (host == NULL)
		return -1;
	return adopt_file(host, WSLINK_CONTROL, "control") != NULL ? 0 : -1;
}

/*
 * Called after each turn of the event loop.  The first call has all connections
 * send a close frame, the second starts the timer that ends the program.
 */
static void
close_all(void)
{
	static int turns;

	switch (++turns) {
	case 1:
		lws_callback_on_writable_all_protocol(context, &PROTOCOLS[0]);
		lws_cancel_service(context);
		return;
	case 2:
		end_in_ms(GOODBYE_MS);
		return;
	default:
		return;
	}
}

int
service_run(void)
{
	struct sigaction term = { .sa_sigaction = on_term,
		.sa_flags = SA_SIGINFO | SA_RESTART };

	/* no log of libwebsockets: clients could make it very long */
	lws_set_log_level(0, NULL);
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGTERM, &term, NULL);
	if (open_service() < 0)
		return 1;
	while (!done && lws_service(context, 0) >= 0)
		if (leaving)
			close_all();
	/* no clean-up: the kernel does it faster */
	return 0;
}
