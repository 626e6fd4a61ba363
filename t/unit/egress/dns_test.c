/* dns_test.c: tests that queries are read, and that answers can be. */
#include "../unit.h"

#include <resolv.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "egress/base/dns.h"

enum { ID = 0x1234, OPTION_ERROR = 15, UDP_ALWAYS = 512 };

/* A message that is being written. */
struct message {
	uint8_t bytes[DNS_QUERY_MAX + 100];
	size_t len;
};

static void
add(struct message *m, const void *bytes, size_t len)
{
	memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

static void
add16(struct message *m, unsigned value)
{
	ns_put16(value, m->bytes + m->len);
	m->len += 2;
}

static void
add_header(struct message *m, unsigned flags, unsigned questions,
    unsigned additional)
{
	*m = (struct message){ .len = 0 };
	add16(m, ID);
	add16(m, flags);
	add16(m, questions);
	add16(m, 0);
	add16(m, 0);
	add16(m, additional);
}

/* Labels are separated by dots; other bytes are as they are. */
static void
add_question(struct message *m, const char *name, unsigned type, unsigned class)
{
	while (*name != '\0') {
		size_t len = strcspn(name, ".");

		m->bytes[m->len++] = (uint8_t)len;
		add(m, name, len);
		name += len + (name[len] == '.');
	}
	m->bytes[m->len++] = 0;
	add16(m, type);
	add16(m, class);
}

static void
add_opt(struct message *m)
{
	static const uint8_t OPT[] = { 0, 0, ns_t_opt, 0x10, 0, 0, 0, 0, 0, 0,
		0 };

	add(m, OPT, sizeof(OPT));
}

static void
make_query(struct message *m, const char *name, unsigned type, bool edns)
{
	add_header(m, 0x0100, 1, edns);
	add_question(m, name, type, ns_c_in);
	if (edns)
		add_opt(m);
}

static void
a_query_is_read(void **state)
{
	struct message m;
	struct dns_query q;

	(void)state;
	make_query(&m, "wWw.eXample.COM", ns_t_a, false);
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_noerror);
	assert_int_equal(q.id, ID);
	assert_int_equal(q.type, ns_t_a);
	assert_true(q.wants_recursion);
	assert_false(q.edns);
	/* with the letters as they were sent */
	assert_string_equal(q.name, "wWw.eXample.COM");
	make_query(&m, "a", ns_t_aaaa, true);
	m.bytes[2] = 0;
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_noerror);
	assert_int_equal(q.type, ns_t_aaaa);
	assert_false(q.wants_recursion);
	assert_true(q.edns);
}

static void
no_part_of_a_query_is_one(void **state)
{
	struct message m;
	struct dns_query q;

	(void)state;
	make_query(&m, "www.example.com", ns_t_a, true);
	for (size_t len = 0; len < m.len; len++) {
		/* at the end of its own memory: ASan sees a byte too many */
		auto_free uint8_t *part = xmalloc(len + 1);
		int code;

		memcpy(part + 1, m.bytes, len);
		code = dns_query_read(part + 1, len, &q);
		if (code != (len < NS_HFIXEDSZ ? -1 : ns_r_formerr))
			fail_msg("%zu bytes: %d", len, code);
		assert_string_equal(q.name, "");
	}
	add(&m, "x", 1);
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_formerr);
}

static void
a_message_that_is_no_query_gets_no_answer(void **state)
{
	struct message m;
	struct dns_query q;

	(void)state;
	make_query(&m, "a.example", ns_t_invalid, false);
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_refused);
	make_query(&m, "a.example", ns_t_a, false);
	m.bytes[2] |= 0x80;
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), -1);
	make_query(&m, "a.example", ns_t_a, false);
	assert_int_equal(dns_query_read(m.bytes, DNS_QUERY_MAX + 1, &q), -1);
	assert_int_equal(dns_query_read(m.bytes, 0, &q), -1);
}

static void
other_questions_are_refused(void **state)
{
	static const struct {
		unsigned flags, questions, class;
		int code;
	} CASES[] = {
		{ 0x0100, 1, ns_c_in, ns_r_noerror },
		{ 0x0000, 1, ns_c_in, ns_r_noerror },
		{ 0x0100, 0, ns_c_in, ns_r_formerr },
		{ 0x0100, 2, ns_c_in, ns_r_formerr },
		{ 0x0100, 65535, ns_c_in, ns_r_formerr },
		{ 0x0100, 1, ns_c_chaos, ns_r_refused },
		{ 0x0100, 1, ns_c_any, ns_r_refused },
		{ 0x0100, 1, 0, ns_r_refused },
		{ 0x0800, 1, ns_c_in, ns_r_notimpl }, /* IQUERY */
		{ 0x1000, 1, ns_c_in, ns_r_notimpl }, /* STATUS */
		{ ns_o_notify << 11, 1, ns_c_in, ns_r_notimpl },
		{ ns_o_update << 11, 1, ns_c_in, ns_r_notimpl },
		{ 0x7800, 1, ns_c_in, ns_r_notimpl },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		uint8_t answer[DNS_ANSWER_MAX];
		struct dns_query q;
		struct message m;
		ns_msg parsed;
		size_t len;
		int code;

		add_header(&m, CASES[i].flags, CASES[i].questions, 0);
		for (unsigned k = 0; k < CASES[i].questions && k < 2; k++)
			add_question(&m, "a.example", ns_t_a, CASES[i].class);
		code = dns_query_read(m.bytes, m.len, &q);
		if (code != CASES[i].code)
			fail_msg("case %zu: %d", i, code);
		assert_int_equal(q.id, ID);
		/* the answer says so, to that query */
		len = dns_answer_write(&q, code, NULL,
		    &(struct dns_reason){ DNS_PROHIBITED, "why" }, answer);
		assert_int_equal(ns_initparse(answer, (int)len, &parsed), 0);
		assert_int_equal(ns_msg_id(parsed), ID);
		assert_int_equal(ns_msg_getflag(parsed, ns_f_rcode), code);
		assert_int_equal(ns_msg_getflag(parsed, ns_f_qr), 1);
		assert_int_equal(ns_msg_count(parsed, ns_s_an), 0);
		assert_int_equal(ns_msg_count(parsed, ns_s_qd),
		    code == ns_r_noerror);
	}
}

static void
a_name_that_does_not_end_is_refused(void **state)
{
	static const struct {
		uint8_t name[8];
		size_t len;
	} NAMES[] = {
		{ { 0xc0, 12 }, 2 },         /* points to itself */
		{ { 1, 'a', 0xc0, 12 }, 4 }, /* the same after a label */
		{ { 0xc0, 14, 0xc0, 12 },
		    4 },               /* two that point to each other */
		{ { 0xc0, 0xff }, 2 }, /* behind the end */
		{ { 0xff, 0xff }, 2 },
		{ { 0x40, 'a', 0 }, 3 }, /* reserved kinds of labels */
		{ { 0x80, 'a', 0 }, 3 },
		{ { 0x41, 'a', 0 }, 3 }, /* a bit string */
		{ { 63, 'a', 0 }, 3 },   /* longer than the message */
		{ { 1, 'a' }, 2 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		struct dns_query q;
		struct message m;

		add_header(&m, 0x0100, 1, 0);
		add(&m, NAMES[i].name, NAMES[i].len);
		add16(&m, ns_t_a);
		add16(&m, ns_c_in);
		if (dns_query_read(m.bytes, m.len, &q) != ns_r_formerr)
			fail_msg("name %zu is \"%s\"", i, q.name);
	}
}

/* Reads the query, answers it and compares the questions, byte by byte. */
static void
check_echo(const struct message *m, bool edns)
{
	const struct in_addr address = { .s_addr = htonl(0xc6120002) };
	uint8_t answer[DNS_ANSWER_MAX];
	size_t question = m->len - NS_HFIXEDSZ - (edns ? 11 : 0), len;
	struct dns_query q;
	ns_msg parsed;
	ns_rr rr;

	assert_int_equal(dns_query_read(m->bytes, m->len, &q), ns_r_noerror);
	len = dns_answer_write(&q, ns_r_noerror, &address, NULL, answer);
	assert_true(len <= UDP_ALWAYS);
	assert_int_equal(ns_initparse(answer, (int)len, &parsed), 0);
	assert_int_equal(ns_msg_count(parsed, ns_s_qd), 1);
	assert_int_equal(ns_msg_count(parsed, ns_s_an), 1);
	assert_int_equal(ns_msg_count(parsed, ns_s_ar), edns);
	assert_memory_equal(answer + NS_HFIXEDSZ, m->bytes + NS_HFIXEDSZ,
	    question);
	assert_int_equal(ns_parserr(&parsed, ns_s_an, 0, &rr), 0);
	assert_string_equal(ns_rr_name(rr), q.name);
	assert_int_equal(ns_rr_type(rr), ns_t_a);
	assert_int_equal(ns_rr_ttl(rr), DNS_TTL_S);
	assert_int_equal(ns_rr_rdlen(rr), NS_INADDRSZ);
	assert_memory_equal(ns_rr_rdata(rr), &address, NS_INADDRSZ);
}

static void
the_question_is_repeated_as_it_was_asked(void **state)
{
	static const char *const NAMES[] = { "", "a", "WwW.eXaMpLe.cOm",
		"a b.example", "a\\b.example", "a@b$c;d\"e(f)", "\xff\x01\x80",
		"_x.*.-.example" };
	struct message m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
		for (int edns = 0; edns < 2; edns++) {
			make_query(&m, NAMES[i], ns_t_a, edns);
			check_echo(&m, edns);
		}
	/* a dot and a NUL within a label */
	add_header(&m, 0x0100, 1, 0);
	add(&m,
	    "\x03"
	    "a.b\x03"
	    "c\0d\x00",
	    9);
	add16(&m, ns_t_a);
	add16(&m, ns_c_in);
	check_echo(&m, false);
}

/* A name of `bytes` bytes on the wire; each is `c`. */
static void
make_long_query(struct message *m, size_t bytes, char c, bool edns)
{
	size_t left = bytes - 1;

	add_header(m, 0x0100, 1, edns);
	while (left > 0) {
		size_t len = left > 64 ? 63 : left - 1;

		/* no label may be empty */
		if (left - len - 1 == 1)
			len--;
		m->bytes[m->len++] = (uint8_t)len;
		memset(m->bytes + m->len, c, len);
		m->len += len;
		left -= len + 1;
	}
	m->bytes[m->len++] = 0;
	add16(m, ns_t_a);
	add16(m, ns_c_in);
	if (edns)
		add_opt(m);
}

static void
the_longest_name_fits_and_no_longer_one(void **state)
{
	static const char BYTES[] = { 'a', '.', '\0', '\xff' };
	struct dns_query q;
	struct message m;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BYTES); i++) {
		make_long_query(&m, NS_MAXCDNAME, BYTES[i], true);
		check_echo(&m, true);
		make_long_query(&m, NS_MAXCDNAME + 1, BYTES[i], true);
		assert_int_equal(dns_query_read(m.bytes, m.len, &q),
		    ns_r_formerr);
	}
	/* a label of 64 bytes would be a kind of its own */
	add_header(&m, 0x0100, 1, 0);
	m.bytes[m.len++] = 64;
	memset(m.bytes + m.len, 'a', 64);
	m.len += 64;
	m.bytes[m.len++] = 0;
	add16(&m, ns_t_a);
	add16(&m, ns_c_in);
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_formerr);
}

static void
only_a_question_for_an_address_gets_one(void **state)
{
	static const unsigned TYPES[] = { ns_t_aaaa, ns_t_txt, ns_t_any,
		ns_t_ns, ns_t_mx, ns_t_cname, ns_t_null, ns_t_axfr, 65, 65535 };
	const struct in_addr address = { .s_addr = htonl(0xc6120002) };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(TYPES); i++) {
		uint8_t answer[DNS_ANSWER_MAX];
		struct dns_query q;
		struct message m;
		ns_msg parsed;
		size_t len;

		make_query(&m, "a.example", TYPES[i], false);
		assert_int_equal(dns_query_read(m.bytes, m.len, &q),
		    ns_r_noerror);
		assert_int_equal(q.type, TYPES[i]);
		len =
		    dns_answer_write(&q, ns_r_noerror, &address, NULL, answer);
		assert_int_equal(ns_initparse(answer, (int)len, &parsed), 0);
		assert_int_equal(ns_msg_count(parsed, ns_s_an), 0);
	}
}

/* The text of the answer's extended error; false if there is none. */
static bool
read_reason(const uint8_t *answer, size_t len, char *text, size_t size)
{
	const uint8_t *at;
	ns_msg parsed;
	ns_rr rr;

	assert_int_equal(ns_initparse(answer, (int)len, &parsed), 0);
	if (ns_msg_count(parsed, ns_s_ar) == 0)
		return false;
	assert_int_equal(ns_parserr(&parsed, ns_s_ar, 0, &rr), 0);
	assert_int_equal(ns_rr_type(rr), ns_t_opt);
	if (ns_rr_rdlen(rr) == 0)
		return false;
	at = ns_rr_rdata(rr);
	assert_int_equal(ns_get16(at), OPTION_ERROR);
	assert_int_equal(ns_get16(at + 2) + 4, ns_rr_rdlen(rr));
	snprintf(text, size, "%.*s", ns_rr_rdlen(rr) - 6, at + 6);
	return true;
}

static void
the_reason_is_told_to_clients_that_understand_it(void **state)
{
	uint8_t answer[DNS_ANSWER_MAX];
	char text[DNS_ANSWER_MAX], reason[2000];
	struct dns_query q;
	struct message m;
	size_t len;

	(void)state;
	make_query(&m, "a.example", ns_t_a, true);
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_noerror);
	len = dns_answer_write(&q, ns_r_refused, NULL,
	    &(struct dns_reason){ DNS_PROHIBITED, "not allowed" }, answer);
	assert_true(read_reason(answer, len, text, sizeof(text)));
	assert_string_equal(text, "not allowed");
	len = dns_answer_write(&q, ns_r_refused, NULL, NULL, answer);
	assert_false(read_reason(answer, len, text, sizeof(text)));
	len = dns_answer_write(&q, ns_r_refused, NULL,
	    &(struct dns_reason){ DNS_PROHIBITED, "" }, answer);
	assert_true(read_reason(answer, len, text, sizeof(text)));
	assert_string_equal(text, "");
	/* a long one is cut, so that every client can receive the answer */
	memset(reason, 'x', sizeof(reason));
	reason[sizeof(reason) - 1] = '\0';
	make_long_query(&m, NS_MAXCDNAME, '\0', true);
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_noerror);
	len = dns_answer_write(&q, ns_r_refused, NULL,
	    &(struct dns_reason){ DNS_PROHIBITED, reason }, answer);
	assert_true(read_reason(answer, len, text, sizeof(text)));
	assert_int_equal(len, UDP_ALWAYS);
	assert_memory_equal(text, reason, strlen(text));
	/* without EDNS there is no place for it */
	make_query(&m, "a.example", ns_t_a, false);
	assert_int_equal(dns_query_read(m.bytes, m.len, &q), ns_r_noerror);
	len = dns_answer_write(&q, ns_r_refused, NULL,
	    &(struct dns_reason){ DNS_PROHIBITED, "not allowed" }, answer);
	assert_false(read_reason(answer, len, text, sizeof(text)));
	assert_int_equal(len, m.len);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_query_is_read),
		cmocka_unit_test(no_part_of_a_query_is_one),
		cmocka_unit_test(a_message_that_is_no_query_gets_no_answer),
		cmocka_unit_test(other_questions_are_refused),
		cmocka_unit_test(a_name_that_does_not_end_is_refused),
		cmocka_unit_test(the_question_is_repeated_as_it_was_asked),
		cmocka_unit_test(the_longest_name_fits_and_no_longer_one),
		cmocka_unit_test(only_a_question_for_an_address_gets_one),
		cmocka_unit_test(
		    the_reason_is_told_to_clients_that_understand_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
