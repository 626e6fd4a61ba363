/* token_test.c: tests secrets, their hashes, and sealing. */
#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/token.h"

static const char BASE32[] = "abcdefghijklmnopqrstuvwxyz234567";

static int
start_sodium(void **state)
{
	struct err e = { 0 };

	(void)state;
	return token_init(&e);
}

static void
keys_and_tokens_have_their_form_and_never_repeat(void **state)
{
	char key[TOKEN_KEY_LEN + 1], other[TOKEN_KEY_LEN + 1];
	char token[TOKEN_PREVIEW_LEN + 1], second[TOKEN_PREVIEW_LEN + 1];

	(void)state;
	token_make_key(key);
	token_make_key(other);
	assert_true(str_starts(key, "sl_"));
	assert_true(str_made_of(key + 3, BASE32, 52, 52));
	assert_string_not_equal(key, other);
	token_make(token);
	token_make(second);
	assert_true(str_made_of(token, BASE32, 26, 26));
	assert_string_not_equal(token, second);
}

static void
hashes_are_the_published_ones(void **state)
{
	char hex[TOKEN_HASH_HEX_MAX];

	(void)state;
	/* BLAKE2b-256 and SHA-256 of "abc" */
	token_hash("abc", hex);
	assert_string_equal(hex,
	    "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319");
	token_sha256("abc", hex);
	assert_string_equal(hex,
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	token_hash("abd", hex);
	assert_memory_not_equal(hex, "bddd", 4);
}

static void
secrets_are_compared_whole(void **state)
{
	(void)state;
	assert_true(token_equal("", ""));
	assert_true(token_equal("abc", "abc"));
	assert_false(token_equal("abc", "abd"));
	assert_false(token_equal("abc", "ab"));
	assert_false(token_equal("ab", "abc"));
}

static void
a_wiped_secret_is_gone(void **state)
{
	char secret[] = "secret";

	(void)state;
	token_wipe(secret, sizeof(secret) - 1);
	assert_memory_equal(secret, "\0\0\0\0\0\0", sizeof(secret));
}

static void
base64_is_read_or_refused(void **state)
{
	static const struct {
		const char *text, *want; /* NULL: refused */
		size_t len;
	} CASES[] = {
		{ "", "", 0 },
		{ "YQ==", "a", 1 },
		{ "AAEC", "\0\1\2", 3 },
		{ "+/8=", "\xfb\xff", 2 },
		{ "YQ", NULL, 0 },
		{ "YQ=", NULL, 0 },
		{ "YQ==x", NULL, 0 },
		{ "Y Q==", NULL, 0 },
		{ "-_8=", NULL, 0 },
		{ "not base64", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf out = { 0 };

		buf_str(&out, ">");
		assert_int_equal(token_base64(CASES[i].text, &out),
		    CASES[i].want != NULL);
		if (CASES[i].want == NULL)
			continue;
		assert_int_equal(out.len, CASES[i].len + 1);
		assert_memory_equal(out.data + 1, CASES[i].want,
		    CASES[i].len + 1);
	}
}

/* ---- sealing */

static struct seal_keys
two_keys(void)
{
	struct seal_keys k = { .key = { { .id = "key0" }, { .id = "key1" } },
		.count = 2 };

	for (size_t i = 0; i < k.count; i++)
		memset(k.key[i].key, (int)i + 1, sizeof(k.key[i].key));
	return k;
}

static void
what_was_sealed_opens_for_its_owner(void **state)
{
	static const struct {
		const char *text;
		size_t len;
	} CASES[] = { { "", 0 }, { "x", 1 }, { "a\0b", 3 } };
	struct seal_keys k = two_keys();

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf sealed = { 0 };
		auto_buf struct buf plain = { 0 };
		struct err e = { 0 };

		seal(&k, "s1/NAME", CASES[i].text, CASES[i].len, &sealed);
		assert_int_equal(sealed.len, strlen(sealed.data));
		assert_true(str_starts(sealed.data, "key0:"));
		assert_int_equal(
		    seal_open(&k, "s1/NAME", sealed.data, &plain, &e), 0);
		assert_int_equal(plain.len, CASES[i].len);
		assert_memory_equal(plain.data, CASES[i].text,
		    CASES[i].len + 1);
	}
}

static void
two_seals_of_one_text_differ(void **state)
{
	auto_buf struct buf a = { 0 };
	auto_buf struct buf b = { 0 };
	struct seal_keys k = two_keys();

	(void)state;
	seal(&k, "o", "text", 4, &a);
	seal(&k, "o", "text", 4, &b);
	assert_string_not_equal(a.data, b.data);
}

static void
an_old_key_still_opens(void **state)
{
	struct seal_keys k = two_keys(), old = { .count = 1 };
	auto_buf struct buf sealed = { 0 };
	auto_buf struct buf plain = { 0 };
	struct err e = { 0 };

	(void)state;
	old.key[0] = k.key[1];
	seal(&old, "o", "text", 4, &sealed);
	assert_int_equal(seal_open(&k, "o", sealed.data, &plain, &e), 0);
	assert_string_equal(plain.data, "text");
}

static void
everything_else_stays_shut(void **state)
{
	struct seal_keys k = two_keys(), none = { .count = 0 };
	auto_buf struct buf sealed = { 0 };
	auto_buf struct buf plain = { 0 };
	auto_free char *bent = NULL;
	struct err e = { 0 };

	(void)state;
	seal(&k, "o", "text", 4, &sealed);
	assert_int_equal(seal_open(&k, "p", sealed.data, &plain, &e), -1);
	assert_code(e.code, CODE_SEAL_BROKEN);
	assert_int_equal(seal_open(&none, "o", sealed.data, &plain, &e), -1);
	assert_code(e.code, CODE_SEAL_KEY_MISSING);
	bent = xstrdup(sealed.data);
	bent[sealed.len - 2] = bent[sealed.len - 2] == 'A' ? 'B' : 'A';
	assert_int_equal(seal_open(&k, "o", bent, &plain, &e), -1);
	for (const char *const *s = (const char *const[]){ "", ":", "key0:",
		 "key0:AAAA", "key0:not base64!", "key", "nokey:AAAA", NULL };
	     *s != NULL; s++)
		assert_int_equal(seal_open(&k, "o", *s, &plain, &e), -1);
	assert_int_equal(plain.len, 0);
}

/* ---- the key file */

struct place {
	char dir[40], file[64];
};

static int
make_place(void **state)
{
	static struct place p;

	snprintf(p.dir, sizeof(p.dir), "/tmp/token_test.XXXXXX");
	if (mkdtemp(p.dir) == NULL)
		return -1;
	snprintf(p.file, sizeof(p.file), "%s/keys", p.dir);
	*state = &p;
	return 0;
}

static int
remove_place(void **state)
{
	struct place *p = *state;

	unlink(p->file);
	return rmdir(p->dir);
}

static void
put_keys(const struct place *p, const char *text, mode_t mode)
{
	FILE *f = fopen(p->file, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(p->file, mode), 0);
}

static void
a_made_key_file_loads_and_is_never_overwritten(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	struct seal_keys k;
	struct stat st;

	assert_int_equal(seal_keys_create(p->file, &e), 0);
	assert_int_equal(stat(p->file, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(seal_keys_load(p->file, &k, &e), 0);
	assert_int_equal(k.count, 1);
	assert_int_equal(strlen(k.key[0].id), 8);
	assert_int_equal(seal_keys_create(p->file, &e), -1);
}

#define HEX64 "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"

static void
the_newest_key_is_the_first_line(void **state)
{
	struct place *p = *state;
	struct err e = { 0 };
	struct seal_keys k;

	put_keys(p, "new:" HEX64 "\n\nold:" HEX64 "\n", 0600);
	assert_int_equal(seal_keys_load(p->file, &k, &e), 0);
	assert_int_equal(k.count, 2);
	assert_string_equal(k.key[0].id, "new");
	assert_int_equal(k.key[0].key[31], 0x1f);
}

static void
bad_key_files_are_refused(void **state)
{
	static const struct {
		const char *text;
		mode_t mode;
		const char *says;
	} CASES[] = {
		{ "", 0600, "holds no key" },
		{ "a:" HEX64 "\n", 0640, "others may read it" },
		{ "a:" HEX64 "\n", 0604, "others may read it" },
		{ "nokey\n", 0600, "line 1 is not" },
		{ "a:" HEX64 "\nb:00\n", 0600, "line 2 is not" },
		{ "a:" HEX64 "\n\nb:00\n", 0600, "line 3 is not" },
		{ "a:" HEX64 "00\n", 0600, "line 1 is not" },
		{ "tenletters:" HEX64 "\n", 0600, "line 1 is not" },
		{ "a:zz" HEX64 "\n", 0600, "line 1 is not" },
	};
	struct place *p = *state;

	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };
		struct seal_keys k;

		put_keys(p, CASES[i].text, CASES[i].mode);
		assert_int_equal(seal_keys_load(p->file, &k, &e), -1);
		assert_non_null(strstr(e.msg, CASES[i].says));
	}
}

static void
a_missing_key_file_is_named(void **state)
{
	struct err e = { 0 };
	struct seal_keys k;

	(void)state;
	assert_int_equal(seal_keys_load("/does/not/exist", &k, &e), -1);
	assert_non_null(strstr(e.msg, "seal_key_file /does/not/exist"));
}

/* Test cases 2 and 6 of RFC 4231, as text. */
static void
hmac_is_the_one_that_others_compute(void **state)
{
	char key[131 + 1] = "", out[TOKEN_HASH_HEX_MAX];

	(void)state;
	token_hmac("Jefe", "what do ya want for nothing?", out);
	assert_string_equal(out,
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	memset(key, 0xaa, sizeof(key) - 1);
	token_hmac(key,
	    "Test Using Larger Than Block-Size Key - Hash Key First", out);
	assert_string_equal(out,
	    "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

static void
a_webhooks_secret_has_its_form_and_never_repeats(void **state)
{
	char secret[TOKEN_WEBHOOK_LEN + 1], other[TOKEN_WEBHOOK_LEN + 1];

	(void)state;
	token_make_webhook(secret);
	token_make_webhook(other);
	assert_true(str_starts(secret, "whsec_"));
	assert_true(str_made_of(secret + 6, BASE32, 52, 52));
	assert_string_not_equal(secret, other);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(
		    keys_and_tokens_have_their_form_and_never_repeat),
		cmocka_unit_test(hmac_is_the_one_that_others_compute),
		cmocka_unit_test(
		    a_webhooks_secret_has_its_form_and_never_repeats),
		cmocka_unit_test(hashes_are_the_published_ones),
		cmocka_unit_test(secrets_are_compared_whole),
		cmocka_unit_test(a_wiped_secret_is_gone),
		cmocka_unit_test(base64_is_read_or_refused),
		cmocka_unit_test(what_was_sealed_opens_for_its_owner),
		cmocka_unit_test(two_seals_of_one_text_differ),
		cmocka_unit_test(an_old_key_still_opens),
		cmocka_unit_test(everything_else_stays_shut),
		cmocka_unit_test_setup_teardown(
		    a_made_key_file_loads_and_is_never_overwritten, make_place,
		    remove_place),
		cmocka_unit_test_setup_teardown(
		    the_newest_key_is_the_first_line, make_place, remove_place),
		cmocka_unit_test_setup_teardown(bad_key_files_are_refused,
		    make_place, remove_place),
		cmocka_unit_test(a_missing_key_file_is_named),
	};

	return cmocka_run_group_tests(TESTS, start_sodium, NULL);
}
