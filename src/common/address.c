/* address.c: tells which addresses we connect to for tenants. */
#include "common/address.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

enum { V4_BITS = 32, V6_BITS = 128, V4_OFFSET = 96 };

/*
 * The special-purpose ranges that IANA lists, for IPv4 all, for IPv6 those
 * within 2000::/3: everything outside 2000::/3 is refused.
 */
static const char *const REFUSED_V4[] = {
	"0.0.0.0/8",        /* this host */
	"10.0.0.0/8",       /* private */
	"100.64.0.0/10",    /* shared by carriers (CGNAT) */
	"127.0.0.0/8",      /* loopback */
	"168.63.129.16/32", /* Azure: services of the host */
	"169.254.0.0/16",   /* link-local, cloud metadata */
	"172.16.0.0/12",    /* private */
	"192.0.0.0/24",     /* protocol assignments, cloud metadata */
	"192.0.2.0/24",     /* documentation */
	"192.88.99.0/24",   /* 6to4 relays */
	"192.168.0.0/16",   /* private */
	"198.18.0.0/15",    /* benchmarks; our stand-ins */
	"198.51.100.0/24",  /* documentation */
	"203.0.113.0/24",   /* documentation */
	"224.0.0.0/4",      /* multicast */
	"240.0.0.0/4",      /* reserved, broadcast */
};
static const char *const PUBLIC_V6 = "2000::/3";
static const char *const REFUSED_V6[] = {
	"2001::/23",     /* protocol assignments: Teredo, ORCHID, ... */
	"2001:db8::/32", /* documentation */
	"2002::/16",     /* 6to4: contains an IPv4 address */
	"3fff::/20",     /* documentation */
};

void
address_from(int family, const void *ip, struct address *out)
{
	*out = (struct address){ .v4 = family == AF_INET };
	if (!out->v4) {
		memcpy(&out->ip, ip, sizeof(out->ip));
		return;
	}
	out->ip.s6_addr[10] = out->ip.s6_addr[11] = 0xff;
	memcpy(&out->ip.s6_addr[12], ip, sizeof(struct in_addr));
}

bool
address_parse(const char *text, struct address *out)
{
	struct in6_addr ip;
	int family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;

	if (inet_pton(family, text, &ip) != 1)
		return false;
	address_from(family, &ip, out);
	return true;
}

void
address_print(const struct address *a, char out[ADDRESS_TEXT_MAX])
{
	out[0] = '\0';
	if (a->v4)
		inet_ntop(AF_INET, &a->ip.s6_addr[12], out, ADDRESS_TEXT_MAX);
	else
		inet_ntop(AF_INET6, &a->ip, out, ADDRESS_TEXT_MAX);
}

socklen_t
address_socket(const struct address *a, uint16_t port,
    struct sockaddr_storage *out)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = a->ip };

	*out = (struct sockaddr_storage){ 0 };
	if (!a->v4) {
		memcpy(out, &v6, sizeof(v6));
		return sizeof(v6);
	}
	memcpy(&v4.sin_addr, &a->ip.s6_addr[12], sizeof(v4.sin_addr));
	memcpy(out, &v4, sizeof(v4));
	return sizeof(v4);
}

static bool
parse_range(const char *text, struct address_range *out)
{
	char base[ADDRESS_TEXT_MAX];
	size_t len = strcspn(text, "/");
	int64_t bits;

	if (len >= sizeof(base))
		return false;
	memcpy(base, text, len);
	base[len] = '\0';
	if (!address_parse(base, &out->base))
		return false;
	bits = out->base.v4 ? V4_BITS : V6_BITS;
	if (text[len] == '/' && !str_to_int(text + len + 1, 0, bits, &bits))
		return false;
	out->bits = (unsigned)bits;
	return true;
}

bool
address_in(const struct address *a, const struct address_range *r)
{
	unsigned bits = r->bits + (r->base.v4 ? V4_OFFSET : 0);
	unsigned whole = bits / 8, rest = bits % 8;

	if (a->v4 != r->base.v4 || memcmp(&a->ip, &r->base.ip, whole) != 0)
		return false;
	/* connect() would use IPv4, which a range of IPv6 does not mean */
	if (!a->v4 && IN6_IS_ADDR_V4MAPPED(&a->ip))
		return false;
	return rest == 0 ||
	    (a->ip.s6_addr[whole] ^ r->base.ip.s6_addr[whole]) >> (8 - rest) ==
	    0;
}

/* `range` is a constant of this file. */
static bool
is_in_text(const struct address *a, const char *range)
{
	struct address_range r;

	if (!parse_range(range, &r))
		abort();
	return address_in(a, &r);
}

static bool
is_public(const struct address *a)
{
	if (a->v4) {
		for (size_t i = 0; i < ARRAY_LEN(REFUSED_V4); i++)
			if (is_in_text(a, REFUSED_V4[i]))
				return false;
		return true;
	}
	for (size_t i = 0; i < ARRAY_LEN(REFUSED_V6); i++)
		if (is_in_text(a, REFUSED_V6[i]))
			return false;
	return is_in_text(a, PUBLIC_V6);
}

bool
address_is_standin(const struct address *a)
{
	return is_in_text(a, "198.18.0.0/15");
}

bool
address_listed(const struct address *a, const struct address_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (address_in(a, &l->range[i]))
			return true;
	return false;
}

bool
address_allowed(const struct address *a, const struct address_list *exceptions)
{
	return address_listed(a, exceptions) || is_public(a);
}

/*
 * A source address would not tell: for a packet to a second address of an
 * interface the kernel chooses the first one.
 */
bool
address_is_ours(const struct address *a)
{
	auto_fd int fd =
	    socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	size_t len = a->v4 ? sizeof(struct in_addr) : sizeof(struct in6_addr);
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		struct rtattr to;
		struct in6_addr ip;
	} ask = {
		.head = { .nlmsg_len =
			      (unsigned)(NLMSG_LENGTH(sizeof(struct rtmsg)) +
				  RTA_LENGTH(len)),
		    .nlmsg_type = RTM_GETROUTE,
		    .nlmsg_flags = NLM_F_REQUEST },
		.route = { .rtm_family = a->v4 ? AF_INET : AF_INET6,
		    .rtm_dst_len = (unsigned char)(len * 8) },
		.to = { .rta_len = (unsigned short)RTA_LENGTH(len),
		    .rta_type = RTA_DST },
	};
	struct {
		struct nlmsghdr head;
		struct rtmsg route;
		char rest[1024];
	} answer;
	ssize_t n;

	memcpy(&ask.ip, &a->ip.s6_addr[sizeof(a->ip) - len], len);
	if (fd < 0 || send(fd, &ask, ask.head.nlmsg_len, 0) < 0)
		return true;
	n = recv(fd, &answer, sizeof(answer), 0);
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(answer.route)))
		return true;
	/* no route: connect() will say so */
	return answer.head.nlmsg_type == RTM_NEWROUTE &&
	    answer.route.rtm_type != RTN_UNICAST;
}

bool
address_may_connect(const struct address *a,
    const struct address_list *exceptions)
{
	return address_listed(a, exceptions) ||
	    (address_allowed(a, exceptions) && !address_is_ours(a));
}

int
address_list_parse(const char *text, struct address_list *out, struct err *e)
{
	auto_free char *copy = xstrdup(text);
	char *save = NULL;

	*out = (struct address_list){ .count = 0 };
	for (char *word = strtok_r(copy, ", ", &save); word != NULL;
	     word = strtok_r(NULL, ", ", &save)) {
		if (out->count == ADDRESS_LIST_MAX)
			return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
			    "more than %d addresses", ADDRESS_LIST_MAX);
		if (!parse_range(word, &out->range[out->count]))
			return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
			    "\"%.60s\" is not an address or a range such as 10.1.2.0/24",
			    word);
		out->count++;
	}
	return 0;
}
