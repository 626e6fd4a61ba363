/* network.c: opens sockets in a cell's network namespace, for the host. */
#include "agent/init/network.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/netlink.h>
#include <linux/nsfs.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/capability.h"
#include "common/base64.h"
#include "common/channel.h"
#include "common/mem.h"

enum {
	PORTS_MAX = 64, /* of one message */
	BACKLOG = 1024,
	DNS_PORT = 53,
	PROXY_PORT = 3128,
	REDIRECT_PORT = 3129,
	STANDIN_BITS = 15,
	PATH_BYTES = 64,
	MESSAGES_MAX = 32768, /* bytes of netlink messages of the host */
	KERNEL_MS = 5000      /* for the kernel to confirm them */
};

static const char OWN_ADDRESS[] = "198.18.0.1";

/* A socket to open; the name says what it is for. */
struct opening {
	const char *name;
	int family;
	bool any; /* bound to every address, not only to the loopback's */
	int type;
	uint16_t port;
};

/* clang-format off */
static const struct opening BASE[] = {
	{ "dns",   AF_INET, false, SOCK_DGRAM,  DNS_PORT },
	{ "dns",   AF_INET, false, SOCK_STREAM, DNS_PORT },
	{ "proxy", AF_INET, false, SOCK_STREAM, PROXY_PORT },
};

/* with a packet filter */
static const struct opening REDIRECTED[] = {
	{ "redirect", AF_INET,  false, SOCK_STREAM, REDIRECT_PORT },
	{ "redirect", AF_INET6, false, SOCK_STREAM, REDIRECT_PORT },
};
/* clang-format on */

/* Sockets that are opened and not yet sent. */
struct batch {
	int reply_fd;
	json_t *names; /* describe() of each, in the order of fds */
	json_t *taken; /* ... of those whose port is in use */
	int fds[CHANNEL_FDS_MAX];
	size_t count;
	bool filter; /* the packet filter brings all connections */
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

/* Adds or removes a route to every address over the loopback device. */
static int
route_all(unsigned char family, unsigned char type, bool on)
{
	bool local = type == RTN_LOCAL;
	struct netlink_request r = {
		.head = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg)),
		    .nlmsg_type = on ? RTM_NEWROUTE : RTM_DELROUTE,
		    .nlmsg_flags = on ? NLM_F_CREATE | NLM_F_REPLACE : 0 },
		.body.route = { .rtm_family = family,
		    .rtm_table = local ? RT_TABLE_LOCAL : RT_TABLE_MAIN,
		    .rtm_protocol = RTPROT_STATIC,
		    .rtm_scope = local ? RT_SCOPE_HOST : RT_SCOPE_LINK,
		    .rtm_type = type },
	};
	unsigned device = if_nametoindex("lo");

	add_attribute(&r, RTA_OIF, &device, sizeof(device));
	return send_request(&r) == 0 || (!on && errno == ESRCH) ? 0 : -1;
}

/* Delivers packets to every address here, or no longer. */
static int
deliver_all(bool on, struct err *e)
{
	return route_all(AF_INET, RTN_LOCAL, on) < 0 ? err_errno(e, "route")
						     : 0;
}

/* ---- the packet filter */

/*
 * Sends netlink messages that the host has made, on a new socket, and waits
 * for the kernel to confirm them.  Returns the socket; -1 if it refuses one, as
 * a kernel without nf_tables does.
 */
static int
send_messages(const char *base64)
{
	auto_buf struct buf bytes = { 0 };
	auto_fd int fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_NETFILTER);
	const struct timeval patience = { .tv_sec = KERNEL_MS / 1000 };
	struct {
		struct nlmsghdr head;
		struct nlmsgerr outcome;
		char rest[256];
	} answer;

	if (fd < 0 || !base64_decode(&bytes, base64, strlen(base64)) ||
	    bytes.len > MESSAGES_MAX ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience,
		sizeof(patience)) < 0 ||
	    send(fd, bytes.data, bytes.len, 0) < 0 ||
	    recv(fd, &answer, sizeof(answer), 0) <
		(ssize_t)(sizeof(answer.head) + sizeof(answer.outcome.error)))
		return -1;
	return answer.head.nlmsg_type == NLMSG_ERROR &&
		answer.outcome.error == 0
	    ? take_fd(&fd)
	    : -1;
}

/*
 * Sets up the packet filter.  Only then packets get a route: they are either
 * redirected or refused by it.  Without IPv6 there is nothing to route.
 */
static bool
set_filter(const char *rules)
{
	auto_fd int fd = rules[0] != '\0' ? send_messages(rules) : -1;

	if (fd < 0 || route_all(AF_INET, RTN_UNICAST, true) < 0)
		return false;
	(void)!route_all(AF_INET6, RTN_UNICAST, true);
	return true;
}

/* ---- sockets */

static int
open_socket(const struct opening *o)
{
	auto_fd int fd =
	    socket(o->family, o->type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_port = htons(o->port),
		.sin_addr.s_addr =
		    htonl(o->any ? INADDR_ANY : INADDR_LOOPBACK) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(o->port),
		.sin6_addr = in6addr_loopback };
	bool is_v6 = o->family == AF_INET6;
	const void *a = is_v6 ? (const void *)&v6 : &v4;
	int on = 1;

	/* connections of the last egress may still be in TIME_WAIT */
	if (fd < 0 ||
	    (o->type == SOCK_STREAM &&
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) <
		    0) ||
	    bind(fd, a, is_v6 ? sizeof(v6) : sizeof(v4)) < 0 ||
	    (o->type == SOCK_STREAM && listen(fd, BACKLOG) < 0))
		return -1;
	return take_fd(&fd);
}

static int
send_batch(struct batch *b, bool more, struct err *e)
{
	auto_json json_t *msg =
	    json_pack("{s:b, s:b, s:b, s:o, s:O}", "ok", 1, "more", more,
		"filter", b->filter, "sockets", b->names, "taken", b->taken);
	int rc = channel_send(b->reply_fd, msg, b->fds, b->count, e);

	for (size_t i = 0; i < b->count; i++)
		close(b->fds[i]);
	b->count = 0;
	b->names = json_array();
	return rc;
}

static json_t *
describe(const struct opening *o)
{
	return json_pack("{s:s, s:i, s:b, s:b}", "name", o->name, "port",
	    (int)o->port, "stream", o->type == SOCK_STREAM, "v6",
	    o->family == AF_INET6);
}

static int
keep_socket(struct batch *b, const struct opening *o, int fd, struct err *e)
{
	if (b->count == CHANNEL_FDS_MAX && send_batch(b, true, e) < 0) {
		close(fd);
		return -1;
	}
	b->fds[b->count++] = fd;
	return json_array_append_new(b->names, describe(o));
}

/*
 * Opens a socket and adds it to the batch.  A port that egress has from an
 * earlier message is taken, and so is one that a program of the tenant has.
 */
static int
add_socket(struct batch *b, const struct opening *o, struct err *e)
{
	int fd = open_socket(o);

	if (fd < 0 && errno == EADDRINUSE)
		return json_array_append_new(b->taken, describe(o));
	if (fd < 0 && o->family == AF_INET6) /* this kernel has no IPv6 */
		return 0;
	if (fd < 0)
		return err_errno(e, "socket for port %u", o->port);
	return keep_socket(b, o, fd, e);
}

static int
add_sockets(struct batch *b, const struct opening *list, size_t count,
    struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (add_socket(b, &list[i], e) < 0)
			return -1;
	return 0;
}

/* A socket on which the kernel reports what the filter refuses. */
static int
add_log(struct batch *b, const char *request, struct err *e)
{
	static const struct opening LOG = { .name = "log" };
	int fd = send_messages(request);

	/* without it packets are refused, too, and nobody hears of them */
	return fd < 0 ? 0 : keep_socket(b, &LOG, fd, e);
}

static int
add_ports(struct batch *b, const json_t *ports, struct err *e)
{
	size_t i;
	json_t *v;

	json_array_foreach(ports, i, v)
	{
		json_int_t port = json_integer_value(v);
		const struct opening o = { "port", AF_INET, true, SOCK_STREAM,
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
	    capability_use(CAP_NET_BIND_SERVICE, true) < 0 ||
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

	if (enter_namespace(pid, e) < 0 || add_address(e) < 0)
		return -1;
	if (add_sockets(b, BASE, ARRAY_LEN(BASE), e) < 0)
		return -1;
	b->filter = set_filter(json_str(msg, "rules"));
	if (b->filter) {
		if (add_sockets(b, REDIRECTED, ARRAY_LEN(REDIRECTED), e) < 0 ||
		    (base && add_log(b, json_str(msg, "log"), e) < 0))
			return -1;
		return send_batch(b, false, e);
	}
	if (deliver_all(open_mode, e) < 0 ||
	    add_ports(b, json_object_get(msg, "ports"), e) < 0)
		return -1;
	return send_batch(b, false, e);
}

static _Noreturn void
run_child(pid_t pid, const json_t *msg, int reply_fd)
{
	struct batch b = { .reply_fd = reply_fd,
		.names = json_array(),
		.taken = json_array() };
	struct err e = { 0 }, ignored;

	if (serve_request(pid, msg, &b, &e) < 0) {
		auto_json json_t *reply = json_pack("{s:b, s:s, s:s}", "ok", 0,
		    "code", code_word(CODE_INTERNAL_ERROR), "message", e.msg);

		(void)!channel_send(reply_fd, reply, NULL, 0, &ignored);
	}
	_exit(0);
}

/*
 * Whether init's user namespace owns its network namespace, so that a cell may
 * set up the network.  bwrap makes one that belongs to another.
 */
static bool
owns_network(void)
{
	auto_fd int net = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	auto_fd int owner = net >= 0 ? ioctl(net, NS_GET_USERNS) : -1;
	struct stat own, other;

	return owner >= 0 && fstat(owner, &other) == 0 &&
	    stat("/proc/self/ns/user", &own) == 0 && own.st_ino == other.st_ino;
}

bool
network_prepare(void)
{
	(void)!capability_use(CAP_NET_BIND_SERVICE, false);
	return owns_network();
}

int
network_renew(struct err *e)
{
	if (unshare(CLONE_NEWNET) < 0)
		return err_errno(e, "cannot make a network namespace");
	return 0;
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
