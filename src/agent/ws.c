/* ws.c: what the session's WebSockets mean. */
#include "agent/ws.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/serve.h"
#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"

struct served {
	struct ws_conn conn;
	json_t *asked;
};

static char session[ID_MAX];
static atomic_int serving;

void
ws_open(const char *session_id)
{
	str_copy(session, sizeof(session), session_id);
}

static void
release(struct served *s)
{
	ws_conn_free(&s->conn);
	json_decref(s->asked);
	free(s);
	atomic_fetch_sub(&serving, 1);
}

static void *
run(void *arg)
{
	struct served *s = arg;

	if (str_equal(json_str(s->asked, "path"), "/ws/pty"))
		ws_pty_run(&s->conn, json_object_get(s->asked, "args"));
	else
		ws_mux_run(&s->conn, session);
	ws_await_end(&s->conn);
	release(s);
	malloc_trim(0);
	return NULL;
}

void
ws_serve(const json_t *asked, int fd)
{
	struct served *s;

	if (fd < 0)
		return;
	s = xcalloc(1, sizeof(*s));
	ws_conn_init(&s->conn, fd);
	s->asked = json_deep_copy(asked);
	if (atomic_fetch_add(&serving, 1) < WS_CONNECTIONS_MAX &&
	    serve_thread(run, s) == 0)
		return;
	ws_close(&s->conn, WS_TRY_LATER, "too many connections");
	release(s);
}
