/* sni_test.c: tests the server name of ClientHellos that OpenSSL writes. */
#include "../unit.h"

#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "egress/base/sni.h"

enum { HELLO_MAX = 40000, RECORD_HEAD = 5, PROTOCOL_MAX = 255 };

struct hello {
	uint8_t bytes[HELLO_MAX];
	size_t len;
};

struct wanted {
	int version;           /* of TLS, the highest */
	const char *name;      /* NULL: no extension */
	size_t protocol_bytes; /* of ALPN */
	long record_bytes;     /* the longest record; 0: the default */
};

static void
set_protocols(SSL *ssl, size_t len)
{
	static uint8_t list[HELLO_MAX];
	size_t at = 0;

	while (at < len) {
		size_t n =
		    len - at - 1 < PROTOCOL_MAX ? len - at - 1 : PROTOCOL_MAX;

		/* none may be empty */
		if (len - at - n - 1 == 1)
			n--;
		list[at] = (uint8_t)n;
		memset(list + at + 1, 'p', n);
		at += n + 1;
	}
	assert_int_equal(SSL_set_alpn_protos(ssl, list, (unsigned)len), 0);
}

static void
make_hello(const struct wanted *w, struct hello *h)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	BIO *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());
	SSL *ssl;
	int n;

	SSL_CTX_set_security_level(ctx, 0); /* for old versions */
	ssl = SSL_new(ctx);
	assert_non_null(ssl);
	SSL_set_bio(ssl, in, out);
	assert_int_equal(SSL_set_min_proto_version(ssl, TLS1_VERSION), 1);
	assert_int_equal(SSL_set_max_proto_version(ssl, w->version), 1);
	if (w->name != NULL)
		assert_int_equal(SSL_set_tlsext_host_name(ssl, w->name), 1);
	if (w->protocol_bytes > 0)
		set_protocols(ssl, w->protocol_bytes);
	if (w->record_bytes > 0)
		SSL_set_max_send_fragment(ssl, w->record_bytes);
	assert_int_equal(SSL_connect(ssl), -1);
	n = BIO_read(out, h->bytes, sizeof(h->bytes));
	assert_in_range(n, 1, sizeof(h->bytes) - 1);
	h->len = (size_t)n;
	SSL_free(ssl);
	SSL_CTX_free(ctx);
}

/* Gives every part of the hello, from the first byte on. */
static void
read_in_parts(const struct hello *h, enum sni_result result, const char *name)
{
	char got[NETWORK_HOST_MAX];

	for (size_t len = 0; len <= h->len; len++) {
		/* in memory of its own: ASan sees a byte too many */
		auto_free uint8_t *part = xmalloc(len + 1);
		enum sni_result is;

		memcpy(part + 1, h->bytes, len);
		is = sni_read(part + 1, len, got);
		if (is != (len < h->len ? SNI_MORE : result))
			fail_msg("%zu of %zu bytes: %d", len, h->len, (int)is);
		assert_string_equal(got, len < h->len ? "" : name);
	}
}

static void
a_name_is_found_once_all_of_it_is_there(void **state)
{
	static const struct {
		struct wanted wanted;
		enum sni_result result;
		const char *name;
	} CASES[] = {
		{ { TLS1_3_VERSION, "a.example", 0, 0 }, SNI_FOUND,
		    "a.example" },
		{ { TLS1_2_VERSION, "a.example", 0, 0 }, SNI_FOUND,
		    "a.example" },
		{ { TLS1_1_VERSION, "a.example", 0, 0 }, SNI_FOUND,
		    "a.example" },
		{ { TLS1_VERSION, "a.example", 0, 0 }, SNI_FOUND, "a.example" },
		{ { TLS1_3_VERSION, "WWW.Example.COM", 12, 0 }, SNI_FOUND,
		    "www.example.com" },
		{ { TLS1_3_VERSION, "a.example.", 0, 0 }, SNI_FOUND,
		    "a.example" },
		{ { TLS1_3_VERSION, "a.example", 1500, 512 }, SNI_FOUND,
		    "a.example" },
		{ { TLS1_2_VERSION, "a.example", 700, 512 }, SNI_FOUND,
		    "a.example" },
		{ { TLS1_3_VERSION, "127.0.0.1", 0, 0 }, SNI_FOUND,
		    "127.0.0.1" },
		{ { TLS1_3_VERSION, NULL, 0, 0 }, SNI_ABSENT, "" },
		{ { TLS1_2_VERSION, NULL, 20, 0 }, SNI_ABSENT, "" },
		{ { TLS1_3_VERSION, "a b.example", 0, 0 }, SNI_BAD, "" },
		{ { TLS1_3_VERSION, "a..example", 0, 0 }, SNI_BAD, "" },
		{ { TLS1_3_VERSION, "b\xc3\xbc.example", 0, 0 }, SNI_BAD, "" },
		{ { TLS1_3_VERSION, "a.example:443", 0, 0 }, SNI_BAD, "" },
		{ { TLS1_3_VERSION, "127.1", 0, 0 }, SNI_BAD, "" },
		{ { TLS1_3_VERSION, "*.example", 0, 0 }, SNI_BAD, "" },
	};
	static struct hello h;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		make_hello(&CASES[i].wanted, &h);
		read_in_parts(&h, CASES[i].result, CASES[i].name);
	}
}

static void
bytes_after_the_hello_do_not_count(void **state)
{
	static const struct wanted W = { TLS1_3_VERSION, "a.example", 0, 0 };
	static struct hello h;
	char name[NETWORK_HOST_MAX];

	(void)state;
	make_hello(&W, &h);
	memset(h.bytes + h.len, 0x16, 3000);
	for (size_t more = 1; more < 3000; more += 100) {
		assert_int_equal(sni_read(h.bytes, h.len + more, name),
		    SNI_FOUND);
		assert_string_equal(name, "a.example");
	}
}

/* All of the records that the hello takes, and no byte of what follows. */
static void
a_hello_ends_where_a_record_ends(void **state)
{
	static const struct wanted CASES[] = {
		{ TLS1_3_VERSION, "a.example", 0, 0 },
		{ TLS1_2_VERSION, "a.example", 700, 512 },
		{ TLS1_3_VERSION, NULL, 1500, 512 },
	};
	static struct hello h;
	char name[NETWORK_HOST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		make_hello(&CASES[i], &h);
		memset(h.bytes + h.len, 0x16, 100);
		for (size_t len = 0; len < h.len; len++)
			assert_int_equal(sni_extent(h.bytes, len), 0);
		assert_int_equal(sni_extent(h.bytes, h.len), h.len);
		assert_int_equal(sni_extent(h.bytes, h.len + 100), h.len);
	}
	/* a second message begins in the record of the first */
	make_hello(&CASES[0], &h);
	h.bytes[h.len] = 1;
	h.bytes[4]++;
	assert_int_equal(sni_extent(h.bytes, h.len + 1), 0);
	assert_int_equal(sni_read(h.bytes, h.len + 1, name), SNI_BAD);
	assert_string_equal(name, "");
}

/* Replaces the bytes of the extension from its list's length on. */
static void
patch_extension(struct hello *h, const char *name, const uint8_t *bytes,
    size_t len)
{
	uint8_t *at = memmem(h->bytes, h->len, name, strlen(name));

	assert_non_null(at);
	assert_true(len <= strlen(name) + RECORD_HEAD);
	memcpy(at - 5, bytes, len);
}

static void
a_name_that_could_be_read_in_two_ways_is_bad(void **state)
{
	/* 16 letters, so the list has 19 bytes: type, length, name */
	static const char NAME[] = "aaaaaaaa.example";
	static const struct {
		uint8_t bytes[21];
		size_t len;
	} CASES[] = {
		/* a NUL */
		{ { 0, 19, 0, 0, 16, 'a', 0, 'a' }, 8 },
		{ { 0, 19, 0, 0, 16, 0 }, 6 },
		/* an empty name */
		{ { 0, 19, 0, 0, 0 }, 5 },
		/* two entries */
		{ { 0, 19, 0, 0, 1, 'a', 0, 0, 12, 'b' }, 10 },
		/* lengths that differ */
		{ { 0, 18, 0, 0, 16 }, 5 },
		{ { 0, 20, 0, 0, 16 }, 5 },
		{ { 0, 19, 0, 0, 15 }, 5 },
		{ { 0, 19, 0, 0, 17 }, 5 },
		{ { 0, 19, 0, 0xff, 0xff }, 5 },
		{ { 0xff, 0xff, 0, 0, 16 }, 5 },
		{ { 0, 0, 0, 0, 16 }, 5 },
		/* another type of name */
		{ { 0, 19, 1, 0, 16 }, 5 },
	};
	static const struct wanted W = { TLS1_3_VERSION, NAME, 0, 0 };
	static struct hello h;
	char name[NETWORK_HOST_MAX];

	(void)state;
	make_hello(&W, &h);
	patch_extension(&h, NAME, (const uint8_t[]){ 0, 19, 0, 0, 16 }, 5);
	assert_int_equal(sni_read(h.bytes, h.len, name), SNI_FOUND);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		make_hello(&W, &h);
		patch_extension(&h, NAME, CASES[i].bytes, CASES[i].len);
		if (sni_read(h.bytes, h.len, name) != SNI_BAD)
			fail_msg("case %zu: %s", i, name);
		assert_string_equal(name, "");
	}
}

/* Turns the extension ALPN (16) into a second server_name (0). */
static void
two_extensions_are_bad(void **state)
{
	static const struct wanted W = { TLS1_3_VERSION, "a.example", 9, 0 };
	static const uint8_t ALPN[] = { 0, 16, 0, 11, 0, 9, 8 };
	static struct hello h;
	char name[NETWORK_HOST_MAX];
	uint8_t *at;

	(void)state;
	make_hello(&W, &h);
	at = memmem(h.bytes, h.len, ALPN, sizeof(ALPN));
	assert_non_null(at);
	memcpy(at, (const uint8_t[]){ 0, 0, 0, 11, 0, 9, 0, 0, 6 }, 9);
	assert_int_equal(sni_read(h.bytes, h.len, name), SNI_BAD);
	assert_string_equal(name, "");
}

static void
a_hello_has_a_limit(void **state)
{
	static const struct wanted FITS = { TLS1_3_VERSION, "a.example", 14000,
		0 };
	static const struct wanted LONG = { TLS1_3_VERSION, "a.example", 17000,
		0 };
	static struct hello h;
	char name[NETWORK_HOST_MAX];

	(void)state;
	make_hello(&FITS, &h);
	assert_int_equal(sni_read(h.bytes, h.len, name), SNI_FOUND);
	make_hello(&LONG, &h);
	assert_true(h.len > SNI_HELLO_MAX);
	assert_int_equal(sni_read(h.bytes, h.len, name), SNI_BAD);
	assert_int_equal(sni_read(h.bytes, SNI_HELLO_MAX, name), SNI_BAD);
}

static void
other_bytes_are_bad(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
	} CASES[] = {
		{ "GET / HTTP/1.1\r\n", 16 },
		{ "SSH-2.0-OpenSSH_9.2\r\n", 21 },
		{ "\x80\x2e\x01\x00\x02", 5 },         /* SSLv2 */
		{ "\x15\x03\x01\x00\x02\x01\x00", 7 }, /* an alert */
		{ "\x17\x03\x03\x00\x02hi", 7 },       /* data */
		{ "\x14\x03\x03\x00\x01\x01", 6 },
		{ "\x00", 1 },
		{ "\x16\x02\x01\x00\x05hello", 10 }, /* not of TLS */
		{ "\x16\x03\x01\xff\xff"
		  "aaaaaaaaaaaa",
		    17 }, /* too long */
		{ "\x16\x03\x01\x00\x05\x02\x00\x00\x01x",
		    10 }, /* a ServerHello */
		{ "\x16\x03\x01\x00\x05\x01\x00\x00\x01x",
		    10 }, /* a short hello */
		{ "\x16GET / HTTP/1.1\r\n\r\n", 19 },
	};
	char name[NETWORK_HOST_MAX];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		if (sni_read((const uint8_t *)CASES[i].bytes, CASES[i].len,
			name) != SNI_BAD)
			fail_msg("case %zu", i);
		assert_string_equal(name, "");
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_is_found_once_all_of_it_is_there),
		cmocka_unit_test(bytes_after_the_hello_do_not_count),
		cmocka_unit_test(a_hello_ends_where_a_record_ends),
		cmocka_unit_test(a_name_that_could_be_read_in_two_ways_is_bad),
		cmocka_unit_test(two_extensions_are_bad),
		cmocka_unit_test(a_hello_has_a_limit),
		cmocka_unit_test(other_bytes_are_bad),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
