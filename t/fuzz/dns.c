/* dns.c: fuzzes queries of a sandbox: every answer can be parsed. */
#include <string.h>

#include "common/mem.h"
#include "egress/base/dns.h"
#include "fuzz.h"

/* Answers the query and reads the answer. */
static void
check_answer(const struct dns_query *q, int code, const struct in_addr *address,
    const char *text)
{
	uint8_t answer[DNS_ANSWER_MAX];
	const struct dns_reason why = { DNS_OTHER, text };
	size_t len = dns_answer_write(q, code, address,
	    text != NULL ? &why : NULL, answer);
	bool read = code == ns_r_noerror;
	struct dns_query again;
	ns_msg m;
	ns_rr rr;

	PROMISE(len <= sizeof(answer));
	PROMISE(ns_initparse(answer, (int)len, &m) == 0);
	PROMISE(ns_msg_id(m) == q->id);
	PROMISE(ns_msg_getflag(m, ns_f_rcode) == code);
	PROMISE(ns_msg_count(m, ns_s_qd) == read);
	PROMISE(ns_msg_count(m, ns_s_an) ==
	    (read && address != NULL && q->type == ns_t_a));
	PROMISE(ns_msg_count(m, ns_s_ar) == q->edns);
	for (int s = ns_s_qd; s < ns_s_max; s++)
		for (int i = 0; i < ns_msg_count(m, (ns_sect)s); i++)
			PROMISE(ns_parserr(&m, (ns_sect)s, i, &rr) == 0);
	if (read) {
		PROMISE(ns_parserr(&m, ns_s_qd, 0, &rr) == 0);
		PROMISE(strcmp(ns_rr_name(rr), q->name) == 0);
		PROMISE(ns_rr_type(rr) == q->type);
	}
	/* two servers of this kind do not answer each other */
	PROMISE(dns_query_read(answer, len, &again) == -1);
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	const struct in_addr address = { .s_addr = htonl(0xc6120002) };
	struct dns_query q;
	int code = dns_query_read(data, len, &q);
	char text[400];

	PROMISE(strlen(q.name) < sizeof(q.name));
	if (code < 0)
		return 0;
	memset(text, 'x', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	check_answer(&q, code, NULL, NULL);
	check_answer(&q, code, NULL, text);
	check_answer(&q, code, &address, NULL);
	check_answer(&q, code, &address, text);
	return 0;
}
