/* git_error_test.c: what git's last words mean. */
#include "t/unit/unit.h"

#include <string.h>

#include "agent/git_error.h"
#include "common/mem.h"

static void
each_message_has_its_code(void **state)
{
	static const struct {
		const char *said, *code;
	} CASES[] = {
		{ "fatal: repository 'http://h/x/' not found\n",
		    "git_repository_not_found" },
		{ "fatal: repository '/x' does not exist\n",
		    "git_repository_not_found" },
		{ "fatal: '/x' does not appear to be a git repository\n"
		  "fatal: Could not read from remote repository.\n",
		    "git_repository_not_found" },
		{ "ERROR: Repository not found.\n"
		  "fatal: Could not read from remote repository.\n",
		    "git_repository_not_found" },
		{ "fatal: http://h/x/info/refs not valid: is this a git repository?\n",
		    "git_repository_not_found" },
		{ "warning: Could not find remote branch b to clone.\n"
		  "fatal: Remote branch b not found in upstream origin\n",
		    "git_branch_not_found" },
		{ "fatal: Authentication failed for 'http://h/x/'\n",
		    "git_auth_failed" },
		{ "fatal: could not read Username for 'https://h': terminal prompts disabled\n",
		    "git_auth_failed" },
		{ "git@h: Permission denied (publickey).\n"
		  "fatal: Could not read from remote repository.\n",
		    "git_auth_failed" },
		{ "fatal: unable to access 'http://h/': The requested URL returned error: 403\n",
		    "git_auth_failed" },
		{ "fatal: unable to access 'http://h/': The requested URL returned error: 500\n",
		    "git_network_error" },
		{ "fatal: unable to access 'http://h/': Could not resolve host: h\n",
		    "git_network_error" },
		{ "fatal: unable to access 'http://h/': Couldn't connect to server\n",
		    "git_network_error" },
		{ "fatal: unable to connect to h:\nh[0]: errno=Connection refused\n",
		    "git_network_error" },
		{ "error: RPC failed; curl 18 transfer closed\nfatal: early EOF\n",
		    "git_network_error" },
		{ "fatal: transport 'ext' not allowed\n", "invalid_git_url" },
		{ "fatal: destination path '/w/x' already exists and is not an empty directory.\n",
		    "git_clone_failed" },
		{ "fatal: could not create work tree dir '/x': Permission denied\n",
		    "git_clone_failed" },
		{ "bash: line 1: git: command not found\n",
		    "git_operation_failed" },
		{ "", "git_clone_failed" },
		{ "something else\n", "git_clone_failed" },
		/* a name says nothing, whatever it is */
		{ "fatal: '/authentication failed' does not appear to be a git repository\n",
		    "git_repository_not_found" },
		{ "fatal: could not create leading directories of 'not found'\n",
		    "git_clone_failed" },
		{ "error: couldn't do it to 'access denied' for 'timed out'\n",
		    "git_clone_failed" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const struct git_error *r =
		    git_error_find(CASES[i].said, strlen(CASES[i].said));

		if (strcmp(r->code, CASES[i].code) != 0)
			fail_msg("%s: %s", CASES[i].said, r->code);
	}
}

static void
the_line_that_says_why_is_told(void **state)
{
	static const struct {
		const char *said, *line;
	} CASES[] = {
		{ "Cloning into 'x'...\nfatal: no\nfatal: also\n",
		    "fatal: no" },
		{ "one\ntwo\n\n", "two" },
		{ "fatal: ", "fatal: " },
		{ "", "" },
		{ "\n\n", "" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		size_t len;
		const char *line =
		    git_error_line(CASES[i].said, strlen(CASES[i].said), &len);

		assert_int_equal(len, strlen(CASES[i].line));
		assert_memory_equal(line, CASES[i].line, len);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_message_has_its_code),
		cmocka_unit_test(the_line_that_says_why_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
