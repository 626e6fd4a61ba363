/* git_error_test.c: tests which error code git's last output becomes. */
#include "t/unit/unit.h"

#include <string.h>

#include "agent/git/error.h"
#include "common/mem.h"

static void
each_message_has_its_code(void **state)
{
	static const struct {
		const char *said;
		enum err_code code;
	} CASES[] = {
		{ "fatal: repository 'http://h/x/' not found\n",
		    CODE_GIT_REPOSITORY_NOT_FOUND },
		{ "fatal: repository '/x' does not exist\n",
		    CODE_GIT_REPOSITORY_NOT_FOUND },
		{ "fatal: '/x' does not appear to be a git repository\n"
		  "fatal: Could not read from remote repository.\n",
		    CODE_GIT_REPOSITORY_NOT_FOUND },
		{ "ERROR: Repository not found.\n"
		  "fatal: Could not read from remote repository.\n",
		    CODE_GIT_REPOSITORY_NOT_FOUND },
		{ "fatal: http://h/x/info/refs not valid: is this a git repository?\n",
		    CODE_GIT_REPOSITORY_NOT_FOUND },
		{ "warning: Could not find remote branch b to clone.\n"
		  "fatal: Remote branch b not found in upstream origin\n",
		    CODE_GIT_BRANCH_NOT_FOUND },
		{ "fatal: Authentication failed for 'http://h/x/'\n",
		    CODE_GIT_AUTH_FAILED },
		{ "fatal: could not read Username for 'https://h': terminal prompts disabled\n",
		    CODE_GIT_AUTH_FAILED },
		{ "git@h: Permission denied (publickey).\n"
		  "fatal: Could not read from remote repository.\n",
		    CODE_GIT_AUTH_FAILED },
		{ "fatal: unable to access 'http://h/': The requested URL returned error: 403\n",
		    CODE_GIT_AUTH_FAILED },
		{ "fatal: unable to access 'http://h/': The requested URL returned error: 500\n",
		    CODE_GIT_NETWORK_ERROR },
		{ "fatal: unable to access 'http://h/': Could not resolve host: h\n",
		    CODE_GIT_NETWORK_ERROR },
		{ "fatal: unable to access 'http://h/': Couldn't connect to server\n",
		    CODE_GIT_NETWORK_ERROR },
		{ "fatal: unable to connect to h:\nh[0]: errno=Connection refused\n",
		    CODE_GIT_NETWORK_ERROR },
		{ "error: RPC failed; curl 18 transfer closed\nfatal: early EOF\n",
		    CODE_GIT_NETWORK_ERROR },
		{ "fatal: transport 'ext' not allowed\n",
		    CODE_INVALID_GIT_URL },
		{ "fatal: destination path '/w/x' already exists and is not an empty directory.\n",
		    CODE_GIT_CLONE_FAILED },
		{ "fatal: could not create work tree dir '/x': Permission denied\n",
		    CODE_GIT_CLONE_FAILED },
		{ "bash: line 1: git: command not found\n",
		    CODE_GIT_OPERATION_FAILED },
		{ "", CODE_GIT_CLONE_FAILED },
		{ "something else\n", CODE_GIT_CLONE_FAILED },
		/* a name decides nothing, even one that reads like an error */
		{ "fatal: '/authentication failed' does not appear to be a git repository\n",
		    CODE_GIT_REPOSITORY_NOT_FOUND },
		{ "fatal: could not create leading directories of 'not found'\n",
		    CODE_GIT_CLONE_FAILED },
		{ "error: couldn't do it to 'access denied' for 'timed out'\n",
		    CODE_GIT_CLONE_FAILED },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const struct git_error *r =
		    git_error_find(CASES[i].said, strlen(CASES[i].said));

		if (r->code != CASES[i].code)
			fail_msg("%s: %s", CASES[i].said, code_word(r->code));
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
