/* network.c: opens sockets in a cell's network namespace, for the host. */
#include "agent/init/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/capability.h"
#include "common/channel.h"
#include "common/mem.h"

enum {
	PORTS_MAX = 64, /* of one message */
	BACKLOG = 1024,
	DNS_PORT = 53,
	PROXY_PORT = 3128,
	STANDIN_BITS = 15,
	PATH_BYTES = 64
};

static const char OWN_ADDRESS[] = "198.18.0.1";

/* A socket to open; the name says what it is for. */
struct opening {
	const char *name;
	in_addr_t address; /* in host order */
	int type;
	uint16_t port;
};

/* clang-format off */
static const struct opening BASE[] = {
	{ "dns",   INADDR_LOOPBACK, SOCK_DGRAM,  DNS_PORT },
	{ "dns",   INADDR_LOOPBACK, SOCK_STREAM, DNS_PORT },
	{ "proxy", INADDR_LOOPBACK, SOCK_STREAM, PROXY_PORT },
};
/* clang-format on */

/* Sockets that are opened and not yet sent. */
struct batch {
	int reply_fd;
	json_t *names; /* [{"name", "port", "stream"}] in the order of fds */
	int fds[CHANNEL_FDS_MAX];
	size_t count;
};

/* ---- the address and the route, by netlink */

struct netlink_request {
	struct nlmsghdr head;
	union {
		struct ifaddrmsg address;
		struct rtmsg route;
	} body;
	char attributes[64];
};

static void
add_attribute(struct netlink_request *r, unsigned short type, const void *data,
    size_t len)
{
	struct rtattr *a = (struct rtattr *)(void *)((char *)r +
	    NLMSG_ALIGN(r->head.nlmsg_len));

	a->rta_type = type;
	a->rta_len = (unsigned short)RTA_LENGTH(len);
	memcpy(RTA_DATA(a), data, len);
	r->head.nlmsg_len =
	    (unsigned)(NLMSG_ALIGN(r->head.nlmsg_len) + RTA_ALIGN(a->rta_len));
}

/* Sends the request.  -1 and errno if the kernel refuses it. */
static int
send_request(struct netlink_request *r)
{
	auto_fd int fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	struct {
		struct nlmsghdr head;
		struct nlmsgerr outcome;
		char rest[256];
	} answer;
	ssize_t n;

	r->head.nlmsg_flags |= NLM_F_REQUEST | NLM_F_ACK;
	if (fd < 0 || send(fd, r, r->head.nlmsg_len, 0) < 0)
		return -1;
	n = recv(fd, &answer, sizeof(answer), 0);
	if (n < (ssize_t)(sizeof(answer.head) + sizeof(answer.outcome.error)))
		return -1;
	errno = -answer.outcome.error;
	return errno == 0 ? 0 : -1;
}

/*
 * Gives the loopback device the address 198.18.0.1/15, and with it packets to
 * all stand-ins.  A route alone would do for them, but getaddrinfo() with
 * AI_ADDRCONFIG resolves no name on a machine whose only address is 127.0.0.1.
 */
static int
add_address(struct err *e)
{
	struct netlink_request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifaddrmsg)),
		    .nlmsg_type = RTM_NEWADDR,
		    .nlmsg_flags = NLM_F_CREATE | NLM_F_REPLACE },
		.body.address = { .ifa_family = AF_INET,
		    .ifa_prefixlen = STANDIN_BITS,
		    .ifa_index = if_nametoindex("lo") },
	};
	struct in_addr own = { .s_addr = inet_addr(OWN_ADDRESS) };

	add_attribute(&r, IFA_LOCAL, &own, sizeof(own));
	add_attribute(&r, IFA_ADDRESS, &own, sizeof(own));
	return send_request(&r) < 0 ? err_errno(e, "address %s", OWN_ADDRESS)
				    : 0;
}

/* Delivers packets to every address here, or no longer. */
static int
route_all(bool on, struct err *e)
{
	struct netlink_request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
		    .nlmsg_type = on ? RTM_NEWROUTE : RTM_DELROUTE,
		    .nlmsg_flags = on ? NLM_F_CREATE | NLM_F_REPLACE : 0 },
		.body.route = { .rtm_family = AF_INET,
		    .rtm_table = RT_TABLE_LOCAL,
		    .rtm_protocol = RTPROT_STATIC,
		    .rtm_scope = RT_SCOPE_HOST,
		    .rtm_type = RTN_LOCAL },
	};
	unsigned device = if_nametoindex("lo");

	add_attribute(&r, RTA_OIF, &device, sizeof(device));
	if (send_request(&r) == 0 || (!on && errno == ESRCH))
		return 0;
	return err_errno(e, "route");
}

/* ---- sockets */

static int
open_socket(const struct opening *o)
{
	auto_fd int fd =
	    socket(AF_INET, o->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_port = htons(o->port),
		.sin_addr.s_addr = htonl(o->address) };
	int on = 1;

	/* connections of the last egress may still be in TIME_WAIT */
	if (fd < 0 ||
	    (o->type == SOCK_STREAM &&
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) <
		    0) ||
	    bind(fd, (const struct sockaddr *)&a, sizeof(a)) < 0 ||
	    (o->type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -1;
	return take_fd(&fd);
}

static int
send_batch(struct batch *b, bool more, struct err *e)
{
	auto_json json_t *msg = json_pack("{s:b, s:b, s:o}", "ok", 1, "more",
	    more, "sockets", b->names);
	int rc = channel_send(b->reply_fd, msg, b->fds, b->count, e);

	for (size_t i = 0; i < b->count; i++)
		close(b->fds[i]);
	b->count = 0;
	b->names = json_array();
	return rc;
}

/*
 * Opens a socket and adds it to the batch.  A port that a program of the tenant
 * already has is left out; so is one that egress has from an earlier message.
 */
static int
add_socket(struct batch *b, const struct opening *o, struct err *e)
{
	int fd;

	if (b->count == CHANNEL_FDS_MAX && send_batch(b, true, e) < 0)
		return -1;
	fd = open_socket(o);
	if (fd < 0)
		return errno == EADDRINUSE
		    ? 0
		    : err_errno(e, "socket for port %u", o->port);
	b->fds[b->count++] = fd;
	json_array_append_new(b->names,
	    json_pack("{s:s, s:i, s:b}", "name", o->name, "port", (int)o->port,
		"stream", o->type == SOCK_STREAM));
	return 0;
}

static int
add_ports(struct batch *b, const json_t *ports, struct err *e)
{
	size_t i;
	json_t *v;

	json_array_foreach(ports, i, v)
	{
		json_int_t port = json_integer_value(v);
		const struct opening o = { "port", INADDR_ANY, SOCK_STREAM,
			(uint16_t)port };

		if (port < 1 || port > UINT16_MAX || i >= PORTS_MAX)
			return err_field(e, "ports", "must be at most %d ports",
			    PORTS_MAX);
		if (add_socket(b, &o, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the child */

/* From here on all sockets of this process are the cell's. */
static int
enter_namespace(pid_t pid, struct err *e)
{
	char path[PATH_BYTES];
	auto_fd int ns = -1;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", (int)pid);
	/* the cell's first process is not dumpable */
	if (capability_use(CAP_SYS_PTRACE, true) < 0 ||
	    (ns = open(path, O_RDONLY | O_CLOEXEC)) < 0 ||
	    setns(ns, CLONE_NEWNET) < 0)
		return err_errno(e, "cannot enter the cell's network");
	return 0;
}

static int
serve_request(pid_t pid, const json_t *msg, struct batch *b, struct err *e)
{
	bool base = json_is_true(json_object_get(msg, "base"));
	bool open_mode = json_is_true(json_object_get(msg, "open"));

	if (enter_namespace(pid, e) < 0 || add_address(e) < 0 ||
	    route_all(open_mode, e) < 0)
		return -1;
	for (size_t i = 0; base && i < ARRAY_LEN(BASE); i++)
		if (add_socket(b, &BASE[i], e) < 0)
			return -1;
	if (add_ports(b, json_object_get(msg, "ports"), e) < 0)
		return -1;
	return send_batch(b, false, e);
}

static _Noreturn void
run_child(pid_t pid, const json_t *msg, int reply_fd)
{
	struct batch b = { .reply_fd = reply_fd, .names = json_array() };
	struct err e = { 0 }, ignored;

	if (serve_request(pid, msg, &b, &e) < 0) {
		auto_json json_t *reply = json_pack("{s:b, s:s, s:s}", "ok", 0,
		    "code", code_word(CODE_INTERNAL_ERROR), "message", e.msg);

		(void)!channel_send(reply_fd, reply, NULL, 0, &ignored);
	}
	_exit(0);
}

int
network_open_sockets(const struct cell *c, const json_t *msg, int reply_fd,
    struct err *e)
{
	pid_t pid = fork();

	if (pid < 0)
		return err_errno(e, "fork");
	if (pid == 0)
		run_child(c->pid, msg, reply_fd);
	return 0;
}
