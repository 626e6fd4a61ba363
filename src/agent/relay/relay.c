/* relay.c: accepts connections to exposed ports. */
#include "agent/relay/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/loop.h"
#include "agent/relay/conn.h"
#include "agent/run/activity.h"
#include "common/channel.h"
#include "common/mem.h"

enum { ACCEPTS_AT_ONCE = 16, PORTS = 65536 };

struct listener {
	struct loop_item item;
	int port;
	int fd;
	bool paused; /* too many connections, or no descriptor for accept() */
	struct listener *next;
};

/* The loop's thread only. */
static struct listener *listeners;
static struct listener *dead; /* closed; each_second() frees them */
/* The number of each port's last change; NULL: none was numbered. */
static int64_t *last_order;

static void
each_second(void)
{
	while (dead != NULL) {
		struct listener *l = dead;

		dead = l->next;
		free(l);
	}
	relay_conn_each_second();
	for (struct listener *l = listeners; l != NULL; l = l->next) {
		if (l->paused &&
		    activity_count(ACTIVITY_RELAYS) < RELAY_CONNECTIONS_MAX) {
			l->paused = false;
			loop_change(l->fd, EPOLLIN, &l->item);
		}
	}
}

/* New connections stay in the backlog until each_second() resumes. */
static void
pause_listener(struct listener *l)
{
	l->paused = true;
	loop_change(l->fd, 0, &l->item);
}

static void
accept_ready(struct loop_item *item, uint32_t events)
{
	struct listener *l = (struct listener *)item;

	(void)events;
	for (int i = 0; i < ACCEPTS_AT_ONCE && l->fd >= 0; i++) {
		int fd;

		if (activity_count(ACTIVITY_RELAYS) >= RELAY_CONNECTIONS_MAX) {
			pause_listener(l);
			return;
		}
		fd = accept4(l->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		if (fd < 0) {
			if (channel_accept_must_pause(errno))
				pause_listener(l);
			return;
		}
		relay_conn_start(fd, l->port);
	}
}

static void
close_port(int port)
{
	for (struct listener **at = &listeners; *at != NULL;) {
		struct listener *l = *at;

		if (l->port != port) {
			at = &l->next;
			continue;
		}
		loop_forget(l->fd);
		close(take_fd(&l->fd));
		*at = l->next;
		l->next = dead;
		dead = l;
	}
}

struct port_change {
	int port;
	int64_t number; /* as `order` of relay_expose(); 0: not numbered */
	int fd;
	struct err e;
	int rc;
};

/* True when a newer change was carried out already; else records this one. */
static bool
is_overtaken(struct port_change *o)
{
	if (o->number == 0)
		return false;
	/* by mmap(), because it is large: pages never written take no memory */
	if (last_order == NULL)
		last_order = xcalloc(PORTS, sizeof(*last_order));
	if (o->number < last_order[o->port]) {
		o->rc = err_set(&o->e, ERR_CONFLICT, CODE_STALE_ORDER,
		    "a newer change of port %d was made meanwhile", o->port);
		return true;
	}
	last_order[o->port] = o->number;
	return false;
}

static void
expose_in_loop(void *arg)
{
	struct port_change *o = arg;
	size_t count = 0;
	struct listener *l;

	if (is_overtaken(o))
		return;
	loop_each_second(each_second);
	close_port(o->port);
	for (l = listeners; l != NULL; l = l->next)
		count++;
	if (count >= RELAYS_MAX) {
		o->rc = err_set(&o->e, ERR_LIMITED, CODE_TOO_MANY_PORTS,
		    "at most %d ports can be exposed", RELAYS_MAX);
		return;
	}
	l = xcalloc(1, sizeof(*l));
	*l = (struct listener){ .item = { accept_ready },
		.port = o->port,
		.fd = o->fd,
		.next = listeners };
	if (loop_watch(l->fd, EPOLLIN, &l->item) < 0) {
		o->rc = err_errno(&o->e, "cannot watch port %d", o->port);
		free(l);
		return;
	}
	listeners = l;
	o->fd = -1;
}

static void
unexpose_in_loop(void *arg)
{
	struct port_change *o = arg;

	if (is_overtaken(o))
		return;
	close_port(o->port);
	relay_conn_close_port(o->port);
}

int
relay_expose(int port, int64_t order, int listen_fd, struct err *e)
{
	struct port_change o = { .port = port,
		.number = order,
		.fd = listen_fd };

	fcntl(listen_fd, F_SETFL, O_NONBLOCK);
	if (loop_call(expose_in_loop, &o, e) < 0) {
		close(listen_fd);
		return -1;
	}
	if (o.rc < 0) {
		*e = o.e;
		close(o.fd);
	}
	return o.rc;
}

int
relay_unexpose(int port, int64_t order, struct err *e)
{
	struct port_change o = { .port = port, .number = order };

	if (loop_call(unexpose_in_loop, &o, e) < 0)
		return -1;
	if (o.rc < 0)
		*e = o.e;
	return o.rc;
}
