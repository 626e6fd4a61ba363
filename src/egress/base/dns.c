/* dns.c: reads queries of the sandbox's resolver and writes the answers. */
#include "egress/base/dns.h"

#include <resolv.h>
#include <string.h>

enum {
	POINTER_TO_QUESTION = 0xc000 | NS_HFIXEDSZ,
	OPT_BYTES = 1 + NS_RRFIXEDSZ, /* the record without options */
	OPTION_HEAD = 6,              /* option, its length, error code */
	UDP_BYTES = 1232,  /* the longest datagram that we invite to send */
	OPTION_ERROR = 15, /* extended error (RFC 8914) */
	FLAG_ANSWER = 0x8000,
	FLAG_RECURSION_WANTED = 0x0100,
	FLAG_RECURSION_OFFERED = 0x0080
};

static uint8_t *
put16(uint8_t *at, size_t value)
{
	ns_put16((unsigned)value, at);
	return at + NS_INT16SZ;
}

static uint8_t *
put32(uint8_t *at, unsigned long value)
{
	ns_put32(value, at);
	return at + NS_INT32SZ;
}

/* Whether the additional section has an OPT record. */
static bool
has_opt(ns_msg *m)
{
	for (int i = 0; i < ns_msg_count(*m, ns_s_ar); i++) {
		ns_rr rr;

		if (ns_parserr(m, ns_s_ar, i, &rr) < 0)
			return false;
		if (ns_rr_type(rr) == ns_t_opt)
			return true;
	}
	return false;
}

int
dns_query_read(const uint8_t *msg, size_t len, struct dns_query *q)
{
	ns_msg m;
	ns_rr rr;

	*q = (struct dns_query){ 0 };
	/* a message that is no query gets no answer: two servers could loop */
	if (len < NS_HFIXEDSZ || len > DNS_QUERY_MAX || (msg[2] & 0x80) != 0)
		return -1;
	q->id = (uint16_t)ns_get16(msg);
	if (ns_initparse(msg, (int)len, &m) < 0)
		return ns_r_formerr;
	if (ns_msg_getflag(m, ns_f_opcode) != ns_o_query)
		return ns_r_notimpl;
	if (ns_msg_count(m, ns_s_qd) != 1 ||
	    ns_parserr(&m, ns_s_qd, 0, &rr) < 0)
		return ns_r_formerr;
	if (ns_rr_class(rr) != ns_c_in || ns_rr_type(rr) == ns_t_invalid)
		return ns_r_refused;
	memcpy(q->name, ns_rr_name(rr), strlen(ns_rr_name(rr)) + 1);
	q->type = ns_rr_type(rr);
	q->wants_recursion = ns_msg_getflag(m, ns_f_rd) != 0;
	q->edns = has_opt(&m);
	return ns_r_noerror;
}

/* Writes the question as it was asked; nothing if it could not be read. */
static uint8_t *
put_question(const struct dns_query *q, uint8_t *at, const uint8_t *end)
{
	int len = q->type != 0
	    ? dn_comp(q->name, at, (int)(end - at) - NS_QFIXEDSZ, NULL, NULL)
	    : -1;

	if (len < 0)
		return at;
	at += len;
	at = put16(at, q->type);
	at = put16(at, ns_c_in);
	return at;
}

static uint8_t *
put_address(const struct in_addr *address, uint8_t *at)
{
	at = put16(at, POINTER_TO_QUESTION);
	at = put16(at, ns_t_a);
	at = put16(at, ns_c_in);
	at = put32(at, DNS_TTL_S);
	at = put16(at, NS_INADDRSZ);
	memcpy(at, address, NS_INADDRSZ);
	return at + NS_INADDRSZ;
}

/* The text is cut: clients that take long datagrams say so, others need not. */
static uint8_t *
put_opt(const struct dns_reason *why, uint8_t *at, const uint8_t *out)
{
	size_t used = (size_t)(at - out) + OPT_BYTES + OPTION_HEAD;
	size_t len = why != NULL ? strnlen(why->text, NS_PACKETSZ - used) : 0;

	*at++ = 0; /* the root's name */
	at = put16(at, ns_t_opt);
	at = put16(at, UDP_BYTES);
	at = put32(at, 0);
	if (why == NULL) {
		at = put16(at, 0);
		return at;
	}
	at = put16(at, OPTION_HEAD + len);
	at = put16(at, OPTION_ERROR);
	at = put16(at, 2 + len);
	at = put16(at, (unsigned)why->code);
	memcpy(at, why->text, len);
	return at + len;
}

_Static_assert(NS_HFIXEDSZ + NS_MAXCDNAME + NS_QFIXEDSZ + 2 + NS_RRFIXEDSZ +
	    NS_INADDRSZ + OPT_BYTES + OPTION_HEAD <=
	NS_PACKETSZ,
    "the longest answer fits into the shortest datagram");

size_t
dns_answer_write(const struct dns_query *q, int code,
    const struct in_addr *address, const struct dns_reason *why,
    uint8_t out[DNS_ANSWER_MAX])
{
	uint8_t *at = out;
	uint8_t *question = out + NS_HFIXEDSZ;
	uint8_t *end = put_question(q, question, out + DNS_ANSWER_MAX);
	bool asked = end > question;
	bool answers = asked && address != NULL && q->type == ns_t_a;

	at = put16(at, q->id);
	at = put16(at,
	    FLAG_ANSWER | FLAG_RECURSION_OFFERED |
		(q->wants_recursion ? FLAG_RECURSION_WANTED : 0) | code);
	at = put16(at, asked);
	at = put16(at, answers);
	at = put16(at, 0);
	at = put16(at, q->edns);
	if (answers)
		end = put_address(address, end);
	if (q->edns)
		end = put_opt(why, end, out);
	return (size_t)(end - out);
}
