/* listener.c: the sockets in a sandbox through which its network is served. */
#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "egress/serve/serve.h"

enum { PAUSE_MS = 100 };

static enum listener_kind
kind_of(const json_t *about)
{
	/* clang-format off */
	static const struct {
		const char *name;
		enum listener_kind stream, datagrams;
	} KINDS[] = {
		{ "dns",      LISTENER_DNS_STREAM, LISTENER_DNS },
		{ "proxy",    LISTENER_PROXY,      LISTENER_PROXY },
		{ "redirect", LISTENER_REDIRECT,   LISTENER_REDIRECT },
		{ "log",      LISTENER_LOG,        LISTENER_LOG },
	};
	/* clang-format on */
	bool stream = json_is_true(json_object_get(about, "stream"));

	for (size_t i = 0; i < ARRAY_LEN(KINDS); i++)
		if (str_equal(json_str(about, "name"), KINDS[i].name))
			return stream ? KINDS[i].stream : KINDS[i].datagrams;
	return LISTENER_PORT;
}

static uint16_t
port_of(const json_t *about)
{
	return (uint16_t)json_integer_value(json_object_get(about, "port"));
}

bool
listener_is_open(const struct session *s, const json_t *about)
{
	const struct listener *l = TAILQ_FIRST(&s->listeners);

	while (l != NULL &&
	    (l->kind != kind_of(about) || l->port != port_of(about) ||
		l->v6 != json_is_true(json_object_get(about, "v6"))))
		l = TAILQ_NEXT(l, link);
	return l != NULL;
}

void
listener_close(struct listener *l)
{
	loop_forget(&l->of->of->loop, &l->watch);
	mem_close_fd(&l->fd);
	TAILQ_REMOVE(&l->of->listeners, l, link);
	loop_bury(&l->of->of->loop, l, free);
}

void
listener_open(struct session *s, const json_t *about, int fd,
    void (*ready)(struct loop_watch *w, uint32_t events))
{
	struct listener *l = xcalloc(1, sizeof(*l));

	*l = (struct listener){ .watch = { .ready = ready, .fd = -1 },
		.of = s,
		.fd = fd,
		.kind = kind_of(about),
		.v6 = json_is_true(json_object_get(about, "v6")),
		.port = port_of(about) };
	TAILQ_INSERT_TAIL(&s->listeners, l, link);
	if (loop_watch(&s->of->loop, &l->watch, fd, EPOLLIN) < 0) {
		log_line(LOG_ERROR, "listener", "session %s: port %u: %m",
		    s->id, l->port);
		listener_close(l);
	}
}

static bool
listen_again_in(struct session *s)
{
	struct listener *l = TAILQ_FIRST(&s->listeners);
	bool all = true;

	for (; l != NULL; l = TAILQ_NEXT(l, link))
		if (loop_watch(&s->of->loop, &l->watch, l->fd, EPOLLIN) < 0)
			all = false;
	return all;
}

static void
listen_again(struct loop_timer *t)
{
	struct egress *g = (struct egress *)(void *)((char *)t -
	    offsetof(struct egress, pause_timer));
	struct session *s = TAILQ_FIRST(&g->sessions);

	for (; s != NULL; s = TAILQ_NEXT(s, link))
		if (!listen_again_in(s))
			loop_set(&g->loop, t, clock_ms() + PAUSE_MS);
}

void
listener_pause(struct listener *l)
{
	struct egress *g = l->of->of;

	if (g->pause_timer.index == 0)
		log_line(LOG_WARN, "descriptors",
		    "no descriptors are left for connections of sandboxes");
	loop_forget(&g->loop, &l->watch);
	g->pause_timer.fire = listen_again;
	loop_set(&g->loop, &g->pause_timer, clock_ms() + PAUSE_MS);
}
