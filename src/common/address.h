/*
 * address.h: tells which addresses we connect to for tenants.
 *
 * Public addresses are allowed.  Every other one (private, loopback,
 * link-local, multicast, shared by carriers, reserved, of cloud metadata) is
 * refused, unless a setting of the operator names it (egress_allow_private,
 * webhook_allow_private).  An IPv6 address that contains an IPv4 address is
 * refused, whatever it contains.
 */
#ifndef SANDLEASE_COMMON_ADDRESS_H
#define SANDLEASE_COMMON_ADDRESS_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "common/err.h"

enum { ADDRESS_TEXT_MAX = INET6_ADDRSTRLEN, ADDRESS_LIST_MAX = 64 };

/* An IPv4 address is kept as ::ffff:a.b.c.d. */
struct address {
	struct in6_addr ip;
	bool v4;
};

/* Addresses that share their first `bits` bits with `base`. */
struct address_range {
	struct address base;
	unsigned bits; /* 0 to 32 for IPv4, 0 to 128 for IPv6 */
};

/* The operator's exceptions. */
struct address_list {
	struct address_range range[ADDRESS_LIST_MAX];
	size_t count;
};

/* Parses "10.1.2.0/24, fd00::1"; "" is an empty list. */
int address_list_parse(const char *text, struct address_list *out,
    struct err *e) MUST_CHECK;

bool address_parse(const char *text, struct address *out);
/* From a `struct in_addr` or a `struct in6_addr`. */
void address_from(int family, const void *ip, struct address *out);
void address_print(const struct address *a, char out[ADDRESS_TEXT_MAX]);

/* The socket address for connect(); returns its length. */
socklen_t address_socket(const struct address *a, uint16_t port,
    struct sockaddr_storage *out);

/* An IPv4 address in IPv6 form (::ffff:a.b.c.d) is in no range. */
bool address_in(const struct address *a, const struct address_range *r);

/* Whether it is one of 198.18.0.0/15. */
bool address_is_standin(const struct address *a);

bool address_listed(const struct address *a, const struct address_list *l);

/* True when the address is public or one of the exceptions. */
bool address_allowed(const struct address *a,
    const struct address_list *exceptions);

/*
 * True when packets to the address reach this machine: one of its own, or a
 * broadcast address.  Asks the kernel for the route; nothing is sent.  Also
 * true when the kernel cannot be asked.
 */
bool address_is_ours(const struct address *a);

/*
 * True when we may connect to the address for a tenant: it is one of the
 * exceptions, or public and not this machine's, whose services may trust it.
 * To be asked of the address that connect() gets: a name may resolve to
 * another one each time.
 */
bool address_may_connect(const struct address *a,
    const struct address_list *exceptions);

#endif
