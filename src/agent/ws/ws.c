/* ws.c: what the session's WebSockets mean. */
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

/* Longer than sandlease-ws gives a handshake (service.c). */
enum { ASKED_MS = 30 * 1000 };

struct served {
	TAILQ_ENTRY(served) link;
	struct ws_conn conn;
	int client; /* ours, beside the program's: to end it by */
	int64_t number;
};

static char session[ID_MAX];
/* Of all that follows. */
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
enlist(struct served *s)
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

/* Whoever else holds the connection does not keep it beyond this. */
static void
release(struct served *s)
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

/* NULL: it did not become a WebSocket. */
static json_t *
read_asked(const struct served *s)
{
	auto_fds struct channel_fds fds = { .count = 0 };
	json_t *asked = NULL;
	struct err ignored;

	(void)!channel_recv(s->conn.fd, clock_ms() + ASKED_MS, &asked, &fds,
	    &ignored);
	return asked;
}

static void *
serve_conn(void *arg)
{
	struct served *s = arg;
	auto_json json_t *asked = read_asked(s);

	if (asked == NULL) {
		release(s);
		return NULL;
	}
	if (str_equal(json_str(asked, "path"), "/ws/pty"))
		ws_pty_run(&s->conn, json_object_get(asked, "args"));
	else
		ws_mux_run(&s->conn, session);
	ws_await_end(&s->conn);
	release(s);
	malloc_trim(0);
	return NULL;
}

void
ws_serve(int client, int pair)
{
	struct served *s = xcalloc(1, sizeof(*s));

	s->client = client;
	ws_conn_init(&s->conn, pair);
	if (enlist(s) && serve_thread(serve_conn, s) == 0)
		return;
	release(s);
}
