/* network_test.c: tests the options about a session's network. */
#include "t/unit/unit.h"

#include <stdlib.h>
#include <string.h>

#include "cli/network.h"
#include "common/mem.h"

static const struct option_row OPTIONS[] = {
	{ 0, "allow", "HOST", "" },
	{ 0, "network", "MODE", "" },
	{ 0, "max-requests", "N", "" },
	{ 0, "secret", "HOST:HEADER=VARIABLE", "" },
	{ 0, "no-secrets", NULL, "" },
	{ 0 },
};
static const struct command UPDATE = { .name = "update",
	.operands = "",
	.help = "",
	.options = OPTIONS };

enum { WORDS_MAX = 8 };

/* clang-format off */
/* Words of a command line, and the body; NULL: they are refused. */
static const struct {
	const char *words[WORDS_MAX], *body;
} CASES[] = {
	{ { "update" }, "{}" },
	{ { "update", "--allow", "a.b", "--allow", "@npm" }, "{\"network\":{\"mode\":\"allow\",\"allow\":[\"a.b\",\"@npm\"]}}" },
	{ { "update", "--allow", "a.b,@npm", "--allow", "c.d" }, "{\"network\":{\"mode\":\"allow\",\"allow\":[\"a.b\",\"@npm\",\"c.d\"]}}" },
	{ { "update", "--allow", "a.b, c.d," }, "{\"network\":{\"mode\":\"allow\",\"allow\":[\"a.b\",\" c.d\",\"\"]}}" },
	{ { "update", "--allow", "a.b", "--max-requests", "7" }, "{\"network\":{\"mode\":\"allow\",\"allow\":[\"a.b\"],\"maxRequests\":7}}" },
	{ { "update", "--network", "none" }, "{\"network\":{\"mode\":\"none\"}}" },
	{ { "update", "--network", "open", "--max-requests", "7" }, "{\"network\":{\"mode\":\"open\",\"maxRequests\":7}}" },
	{ { "update", "--network", "default" }, "{\"network\":null}" },
	{ { "update", "--no-secrets" }, "{\"secrets\":[]}" },
	{ { "update", "--secret", "a.b:x-key=SECRET" }, "{\"secrets\":[{\"host\":\"a.b\",\"header\":\"x-key\",\"value\":\"v=1:2\"}]}" },
	{ { "update", "--network", "allow" }, NULL },
	{ { "update", "--network", "none", "--allow", "a.b" }, NULL },
	{ { "update", "--network", "none", "--max-requests", "7" }, NULL },
	{ { "update", "--network", "default", "--max-requests", "7" }, NULL },
	{ { "update", "--max-requests", "7" }, NULL },
	{ { "update", "--network", "open", "--max-requests", "0" }, NULL },
	{ { "update", "--no-secrets", "--secret", "a.b:x=SECRET" }, NULL },
	{ { "update", "--secret", "a.b" }, NULL },
	{ { "update", "--secret", "a.b=SECRET" }, NULL },
	{ { "update", "--secret", ":x=SECRET" }, NULL },
	{ { "update", "--secret", "a.b:=SECRET" }, NULL },
	{ { "update", "--secret", "a.b:x=" }, NULL },
	{ { "update", "--secret", "https://a.b:x=SECRET" }, NULL },
	{ { "update", "--secret", "a.b:443:x=SECRET" }, NULL },
	{ { "update", "--secret", "a.b/c:x=SECRET" }, NULL },
	{ { "update", "--secret", "a.b:x=NO_SUCH_VARIABLE" }, NULL },
	{ { "update", "--secret", "a.b:x=EMPTY" }, NULL },
};
/* clang-format on */

static void
options_make_a_body_or_are_refused(void **state)
{
	(void)state;
	setenv("SECRET", "v=1:2", 1);
	setenv("EMPTY", "", 1);
	unsetenv("NO_SUCH_VARIABLE");
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *body = json_object();
		auto_free char *text = NULL;
		char *argv[WORDS_MAX + 1] = { 0 };
		struct args a = { 0 };
		struct err e = { 0 };
		int argc = 0, rc;

		while (argc < WORDS_MAX && CASES[i].words[argc] != NULL) {
			argv[argc] = (char *)(uintptr_t)CASES[i].words[argc];
			argc++;
		}
		assert_int_equal(args_parse(&UPDATE, argc, argv, &a, &e), 0);
		rc = network_add(&a, body, &e);
		text = json_text(body);
		if (CASES[i].body == NULL
			? rc == 0 || e.code != CODE_USAGE
			: rc < 0 || strcmp(text, CASES[i].body) != 0)
			fail_msg("case %zu: %s %s", i, text, e.msg);
		args_free(&a);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_make_a_body_or_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
