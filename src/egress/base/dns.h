/*
 * dns.h: reads queries of the sandbox's resolver and writes the answers.
 *
 * Only messages, no sockets and no decisions.  The parser is that of the C
 * library (ns_initparse).  An answer has at most one address, an IPv4 one: the
 * stand-in of the name.
 */
#ifndef SANDLEASE_EGRESS_BASE_DNS_H
#define SANDLEASE_EGRESS_BASE_DNS_H

#include <arpa/inet.h>
#include <arpa/nameser.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DNS_NAME_MAX = 1025, /* as text: 255 bytes of which each may be \ddd */
	DNS_QUERY_MAX = 4096,
	DNS_ANSWER_MAX = NS_PACKETSZ, /* of UDP without EDNS */
	DNS_TTL_S = 60
};

struct dns_query {
	uint16_t id;
	uint16_t type;
	bool wants_recursion;
	bool edns;               /* the client understands an OPT record */
	char name[DNS_NAME_MAX]; /* as it was sent; unusual bytes are \ddd */
};

/*
 * Reads a query.  Returns the code to answer with: ns_r_noerror if it can be
 * looked up; another if not, and then only `id` may be valid.  -1: nothing to
 * answer, because it is not a query.
 */
int dns_query_read(const uint8_t *msg, size_t len, struct dns_query *q);

/* Codes of extended errors (RFC 8914). */
enum dns_error {
	DNS_OTHER = 0,
	DNS_PROHIBITED = 18 /* the server's policy forbids it */
};

struct dns_reason {
	enum dns_error code;
	const char *text;
};

/*
 * Writes the answer.  `address` is NULL for none; `why` (may be NULL) says why
 * there is none, to clients that understand extended errors.  Returns its
 * length.
 */
size_t dns_answer_write(const struct dns_query *q, int code,
    const struct in_addr *address, const struct dns_reason *why,
    uint8_t out[DNS_ANSWER_MAX]);

#endif
