/* script_test.c: tests the scripts that a shell is given, with a real bash. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/shell/answers.h"
#include "agent/shell/script.h"
#include "common/mem.h"
#include "common/quote.h"

/* Runs a script as a session's shell reads it, and returns its answer. */
static void
run_bash(const struct buf *script, struct buf *answer)
{
	char path[] = "/tmp/sl-script-XXXXXX", command[128];
	int fd = mkstemp(path);
	FILE *p;
	size_t n;

	assert_true(fd >= 0);
	assert_int_equal(write(fd, script->data, script->len), script->len);
	close(fd);
	snprintf(command, sizeof(command), "bash --norc <%s 2>/dev/null", path);
	p = popen(command, "r");
	assert_non_null(p);
	while ((n = fread(buf_room(answer, 4096), 1, 4096, p)) > 0)
		answer->len += n;
	buf_str(answer, "");
	pclose(p);
	unlink(path);
}

static void
read_file(const char *path, struct buf *out)
{
	FILE *f = fopen(path, "r");
	size_t n;

	assert_non_null(f);
	while ((n = fread(buf_room(out, 4096), 1, 4096, f)) > 0)
		out->len += n;
	buf_str(out, "");
	fclose(f);
}

static void
any_text_is_one_word(void **state)
{
	static const char *const WORDS[] = { "", "a", "'", "''", "a'b c",
		"$(id) `id` \"x\" \\ !! \n*" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++) {
		auto_buf struct buf script = { 0 };
		auto_buf struct buf answer = { 0 };

		buf_str(&script, "printf '%s.' ");
		quote_always(&script, WORDS[i]);
		buf_str(&script, "\n");
		run_bash(&script, &answer);
		assert_int_equal(answer.len, strlen(WORDS[i]) + 1);
		assert_memory_equal(answer.data, WORDS[i], strlen(WORDS[i]));
	}
}

static void
a_command_has_its_own_output_and_tells_its_end(void **state)
{
	auto_buf struct buf script = { 0 };
	auto_buf struct buf answer = { 0 };
	auto_buf struct buf out = { 0 };
	auto_json json_t *env = json_pack("{s:s, s:n}", "V", "it's", "N");
	struct answers a = { 0 };
	char dir[] = "/tmp/sl-dir-XXXXXX", path[64];

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/out", dir);
	script_run(&script,
	    &(struct script_command){ .seq = 7,
		.command = "echo \"$V\"; pwd; cat; x=1; (exit 9)",
		.env = env,
		.cwd = "/usr",
		.back = "/",
		.out = path,
		.err = "/dev/null" });
	buf_str(&script, "pwd; echo ${V-none} $x\n");
	run_bash(&script, &answer);
	answers_read(&a, answer.data, answer.len);
	assert_int_equal(a.ended, 7);
	assert_int_equal(a.exit_code, 9);
	assert_int_equal(a.ready, 7);
	assert_non_null(strstr(a.exports.data, "declare -x HOME="));
	assert_null(strstr(a.exports.data, "declare -x V="));
	assert_string_equal(strstr(answer.data, "\nd 7\n"),
	    "\nd 7\n/\nnone 1\n");
	answers_reset(&a);
	read_file(path, &out);
	assert_string_equal(out.data, "it's\n/usr\n");
	unlink(path);
	rmdir(dir);
}

static void
a_state_that_was_dumped_makes_another_shell_like_it(void **state)
{
	auto_buf struct buf first = { 0 };
	auto_buf struct buf dumped = { 0 };
	auto_buf struct buf second = { 0 };
	auto_buf struct buf answer = { 0 };
	char *end;

	(void)state;
	buf_str(&first,
	    "shopt -s expand_aliases\nexport E=\"it's\"; v=(1 'two 2'); "
	    "f() { echo \"f $1\"; }; alias g='echo al'; umask 027; "
	    "set -o pipefail\n");
	script_dump(&first, "TOKEN");
	run_bash(&first, &dumped);
	assert_memory_equal(dumped.data, "b TOKEN\n", 8);
	end = strstr(dumped.data, "\nTOKEN\n");
	assert_non_null(end);
	assert_string_equal(end, "\nTOKEN\n");
	*end = '\0';
	script_alone(&second, dumped.data + 8, NULL,
	    "env | grep ^E=; echo ${v[1]}; f x; g y; umask; "
	    "false | true || echo pipefail; cat",
	    false);
	run_bash(&second, &answer);
	assert_string_equal(answer.data,
	    "E=it's\ntwo 2\nf x\nal y\n0027\npipefail\n");
}

static void
variables_are_exported_and_unset(void **state)
{
	auto_buf struct buf script = { 0 };
	auto_buf struct buf answer = { 0 };

	(void)state;
	script_export(&script, "A", "x y");
	script_export(&script, "B", "b");
	script_export(&script, "B", NULL);
	buf_str(&script, "env | grep -E '^[AB]='\n");
	run_bash(&script, &answer);
	assert_string_equal(answer.data, "A=x y\n");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_text_is_one_word),
		cmocka_unit_test(
		    a_command_has_its_own_output_and_tells_its_end),
		cmocka_unit_test(
		    a_state_that_was_dumped_makes_another_shell_like_it),
		cmocka_unit_test(variables_are_exported_and_unset),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
