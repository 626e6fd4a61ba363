/* service.c: the WebSockets of one session. */
#include "ws/service.h"

#include <errno.h>
#include <libwebsockets.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>

#include "common/mem.h"
#include "common/wslink.h"
#include "ws/link.h"
#include "ws/request.h"

enum {
	CONNECTIONS_MAX = 256,
	FILES_MAX = 2 * CONNECTIONS_MAX + 32,
	GOODBYE_MS = 50,
	PING_SECONDS = 25,   /* nginx and those before it see life */
	HANGUP_SECONDS = 75, /* who has answered none for so long is gone */
	HANDSHAKE_SECONDS = 10,
	READ_BYTES = 16 * 1024
};

_Static_assert((int)READ_BYTES <= (int)WSLINK_MAX, "a read is one packet");

static struct lws_context *context;
static struct lws *listener;
static lws_sorted_usec_list_t end_timer;
static size_t connections; /* of clients, each with its pair or none yet */
static int64_t idle_ms;
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

/* ---- those who connect */

static void
one_more(void)
{
	lws_sul_schedule(context, 0, &end_timer, end_now,
	    LWS_SET_TIMER_USEC_CANCEL);
	connections++;
}

static void
one_less(void)
{
	connections--;
	if (connections == 0 && !leaving)
		end_in_ms(idle_ms);
}

/* The wrapper's ends end in the same callback. */
static bool
is_client(struct lws *wsi)
{
	return lws_get_opaque_user_data(wsi) == &connections;
}

static int
accept_one(struct lws *wsi)
{
	lws_sock_file_fd_type d;

	if (done || leaving)
		return 0; /* who waits is the next life's */
	d.sockfd =
	    accept4(WSLINK_LISTENER, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (d.sockfd < 0)
		return 0;
	wsi = lws_adopt_descriptor_vhost(lws_get_vhost(wsi),
	    LWS_ADOPT_SOCKET | LWS_ADOPT_HTTP, d, NULL, NULL);
	if (wsi == NULL)
		return 0; /* it has closed what it was given */
	lws_set_opaque_user_data(wsi, &connections);
	one_more();
	return 0;
}

static int
on_listener(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	(void)user, (void)in, (void)len;
	return reason == LWS_CALLBACK_RAW_RX_FILE ? accept_one(wsi) : 0;
}

/* The wrapper says nothing there: what comes is its end. */
static int
on_control(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len)
{
	(void)wsi, (void)user, (void)in, (void)len;
	if (reason == LWS_CALLBACK_RAW_RX_FILE ||
	    reason == LWS_CALLBACK_RAW_CLOSE_FILE)
		end_in_ms(0);
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
		return link_open(user, wsi);
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
		if (is_client(wsi))
			one_less();
		return 0;
	default:
		return 0;
	}
}

/* The first is everybody's who connects. */
static const struct lws_protocols PROTOCOLS[] = {
	{ "", on_connection, sizeof(struct link), READ_BYTES },
	{ LINK_WRAPPER, link_wrapper, 0, 0 },
	{ "listener", on_listener, 0, 0 },
	{ "control", on_control, 0, 0 },
	{ NULL, NULL, 0, 0 },
};

static const lws_retry_bo_t LIFE = {
	.secs_since_valid_ping = PING_SECONDS,
	.secs_since_valid_hangup = HANGUP_SECONDS,
};

/* ---- the program's life */

static void
on_term(int sig)
{
	(void)sig;
	leaving = 1;
	if (context != NULL)
		lws_cancel_service(context);
}

static struct lws *
adopt(struct lws_vhost *host, int fd, const char *protocol)
{
	lws_sock_file_fd_type d = { .filefd = fd };

	return lws_adopt_descriptor_vhost(host, LWS_ADOPT_RAW_FILE_DESC, d,
	    protocol, NULL);
}

static int
open_all(void)
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
	listener = adopt(host, WSLINK_LISTENER, "listener");
	return listener != NULL &&
		adopt(host, WSLINK_CONTROL, "control") != NULL
	    ? 0
	    : -1;
}

/* After each turn: the time runs when all who can be told have been. */
static void
say_goodbye(void)
{
	static int turns;

	switch (++turns) {
	case 1:
		lws_rx_flow_control(listener, 0);
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
service_run(int64_t idle)
{
	idle_ms = idle;
	/* it says much, and of things that clients decide */
	lws_set_log_level(0, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGTERM, on_term);
	if (open_all() < 0)
		return 1;
	end_in_ms(idle_ms);
	while (!done && lws_service(context, 0) >= 0)
		if (leaving)
			say_goodbye();
	/* nothing that the kernel does not do faster */
	return 0;
}
