/* ws.c: keeps the list of WebSockets and runs a thread for each. */
#include "agent/ws/ws.h"

#include <malloc.h>
#include <stdlib.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/base/serve.h"
#include "common/channel.h"
#include "common/clock.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"

/* Longer than the time that sandlease-ws has for a handshake (service.c). */
enum { HANDSHAKE_MS = 30 * 1000 };

struct served {
	TAILQ_ENTRY(served) link;
	struct ws_conn conn;
	int client; /* our descriptor of the connection, to cut it */
	int64_t number;
};

static char session[ID_MAX];
/* Protects the variables below. */
static struct lock lock = LOCK_INIT(LOCK_WS_SERVED);
static TAILQ_HEAD(served_list, served) all = TAILQ_HEAD_INITIALIZER(all);
static int serving;
static int64_t newest;

void
ws_open(const char *session_id)
{
	str_copy(session, sizeof(session), session_id);
}

int
ws_serving(void)
{
	int n;

	lock_take(&lock);
	n = serving;
	lock_drop(&lock);
	return n;
}

int64_t
ws_newest(void)
{
	int64_t n;

	lock_take(&lock);
	n = newest;
	lock_drop(&lock);
	return n;
}

void
ws_cut(int64_t last)
{
	const struct served *s;

	lock_take(&lock);
	TAILQ_FOREACH(s, &all, link)
	if (s->number <= last)
		shutdown(s->client, SHUT_RDWR);
	lock_drop(&lock);
}

/* False when there are too many. */
static bool
add_served(struct served *s)
{
	bool room;

	lock_take(&lock);
	room = serving < WS_CONNECTIONS_MAX;
	if (room) {
		TAILQ_INSERT_TAIL(&all, s, link);
		serving++;
		s->number = ++newest;
	}
	lock_drop(&lock);
	return room;
}

/*
 * shutdown() ends the connection even if another process, such as sandlease-ws,
 * has a descriptor of it.
 */
static void
free_served(struct served *s)
{
	lock_take(&lock);
	if (s->number > 0) {
		TAILQ_REMOVE(&all, s, link);
		serving--;
	}
	shutdown(s->client, SHUT_RDWR);
	lock_drop(&lock);
	close(s->client);
	ws_conn_free(&s->conn);
	free(s);
}

/*
 * Waits for path and arguments of the handshake; NULL: the connection did not
 * become a WebSocket.
 */
static json_t *
read_handshake(const struct served *s)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	json_t *handshake = NULL;
	struct err ignored;

	(void)!channel_recv(s->conn.fd, clock_ms() + HANDSHAKE_MS, &handshake,
	    &fds, &ignored);
	return handshake;
}

static void *
serve_conn(void *arg)
{
	struct served *s = arg;
	auto_json json_t *handshake = read_handshake(s);

	if (handshake == NULL) {
		free_served(s);
		return NULL;
	}
	if (str_equal(json_str(handshake, "path"), "/ws/pty"))
		ws_pty_run(&s->conn, json_object_get(handshake, "args"));
	else
		ws_mux_run(&s->conn, session);
	ws_await_end(&s->conn);
	free_served(s);
	malloc_trim(0);
	return NULL;
}

void
ws_serve(int client, int pair)
{
	struct served *s = xcalloc(1, sizeof(*s));

	s->client = client;
	ws_conn_init(&s->conn, pair);
	if (add_served(s) && serve_thread(serve_conn, s) == 0)
		return;
	free_served(s);
}
