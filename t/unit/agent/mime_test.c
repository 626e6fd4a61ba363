/* mime_test.c: tests that a file's name, then its content, decides its type. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "agent/files/mime.h"
#include "common/mem.h"

static void
the_name_decides_then_the_content(void **state)
{
	static const struct {
		const char *path, *data, *type;
		int text;
	} CASES[] = {
		{ "/a/b.json", "{}", "application/json", 1 },
		{ "/a/b.JSON", "", "application/json", 1 },
		{ "x.svg", "", "image/svg+xml", 1 },
		{ "x.ipynb", "", "application/x-ipynb+json", 1 },
		{ "x.png", "text really", "image/png", 0 },
		{ "/a.png/file", "hello", "text/plain", 1 },
		{ ".json", "hello", "text/plain", 1 },
		{ "x.unknown", "hello", "text/plain", 1 },
		{ "x", "%PDF-1.7", "application/pdf", 0 },
		{ "x",
		    "\x7f"
		    "ELF",
		    "application/x-executable", 0 },
		{ "x", "\xff\xfe", "application/octet-stream", 0 },
		{ "x", "", "text/plain", 1 },
		{ "x", "RIFF\xf0\xf0\xf0\xf0WEBPVP8 ", "image/webp", 0 },
		{ "x", "ID3 is how music is tagged", "text/plain", 1 },
		{ "x", "#!/bin/sh\n", "text/x-shellscript", 1 },
		{ "x", "<!doctype html><p>", "text/html", 1 },
		{ "x", "caf\xc3\xa9", "text/plain", 1 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const char *type = mime_of(CASES[i].path, CASES[i].data,
		    strlen(CASES[i].data));

		assert_string_equal(type, CASES[i].type);
		assert_int_equal(mime_is_text(type), CASES[i].text);
	}
	assert_string_equal(mime_of("x", "a\0b", 3),
	    "application/octet-stream");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_name_decides_then_the_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
