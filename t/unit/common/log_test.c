/* log_test.c: tests that each event is one log line. */
#include "../unit.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/json.h"
#include "common/log.h"
#include "common/mem.h"

enum { CAPTURE_MAX = 8192 };

static int saved_stderr = -1, pipe_fds[2] = { -1, -1 };

static int
catch_stderr(void **state)
{
	(void)state;
	saved_stderr = dup(STDERR_FILENO);
	if (pipe(pipe_fds) < 0)
		return -1;
	return dup2(pipe_fds[1], STDERR_FILENO) < 0 ? -1 : 0;
}

static int
release_stderr(void **state)
{
	(void)state;
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	log_context("", "");
	return 0;
}

/* The log lines since the last call; a marker keeps read(2) from blocking. */
static const char *
logged(void)
{
	static char text[CAPTURE_MAX];
	ssize_t n;

	assert_int_equal(write(pipe_fds[1], ".", 1), 1);
	n = read(pipe_fds[0], text, sizeof(text) - 1);
	assert_true(n > 0);
	text[n - 1] = '\0';
	return text;
}

/* The line as JSON, or NULL. */
static json_t *
logged_json(void)
{
	const char *text = logged();
	struct err e = { 0 };
	json_t *v = NULL;

	if (json_parse(text, strlen(text), &v, &e) < 0)
		return NULL;
	return v;
}

static void
a_line_says_when_who_and_what(void **state)
{
	const char *text;

	(void)state;
	log_open("prog", LOG_INFO, LOG_KV);
	log_line(LOG_WARN, "odd", "%d things", 3);
	text = logged();
	assert_true(strncmp(text, "at=\"20", 6) == 0);
	assert_non_null(strstr(text,
	    "Z\" level=\"warn\" program=\"prog\" event=\"odd\" msg=\"3 things\"\n"));
	assert_null(strstr(text, "request="));
}

/* systemd names the journal's descriptor by device and inode. */
static void
only_the_journal_is_told_a_priority(void **state)
{
	char stream[64];
	struct stat st;

	(void)state;
	assert_int_equal(fstat(STDERR_FILENO, &st), 0);
	snprintf(stream, sizeof(stream), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	setenv("JOURNAL_STREAM", stream, 1);
	log_open("prog", LOG_INFO, LOG_KV);
	log_line(LOG_WARN, "odd", "x");
	assert_true(strncmp(logged(), "<4>at=", 6) == 0);
	log_open("prog", LOG_INFO, LOG_JSON);
	log_line(LOG_WARN, "odd", "x");
	assert_true(strncmp(logged(), "{", 1) == 0);
	/* not our descriptor: started by a unit, but writing into a file */
	setenv("JOURNAL_STREAM", "8:1", 1);
	log_open("prog", LOG_INFO, LOG_KV);
	log_line(LOG_WARN, "odd", "x");
	assert_true(strncmp(logged(), "at=", 3) == 0);
	unsetenv("JOURNAL_STREAM");
}

static void
the_level_is_a_threshold(void **state)
{
	(void)state;
	log_open("prog", LOG_WARN, LOG_KV);
	log_line(LOG_INFO, "a", "no");
	log_line(LOG_DEBUG, "b", "no");
	assert_string_equal(logged(), "");
	log_line(LOG_ERROR, "c", "yes");
	assert_non_null(strstr(logged(), "level=\"error\""));
}

static void
context_stands_in_every_line_until_cleared(void **state)
{
	const char *text;

	(void)state;
	log_open("prog", LOG_INFO, LOG_KV);
	log_context("r1", "s1");
	log_line(LOG_INFO, "a", "x");
	text = logged();
	assert_non_null(strstr(text, " request=\"r1\" session=\"s1\" "));
	log_context("", "");
	log_line(LOG_INFO, "a", "x");
	assert_null(strstr(logged(), "session="));
}

static void
control_characters_cannot_forge_a_line(void **state)
{
	const char *text;

	(void)state;
	log_open("prog", LOG_INFO, LOG_KV);
	log_line(LOG_INFO, "a",
	    "one\n<3>two\x1b[2J\x7f \"quoted\" back\\slash");
	text = logged();
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	assert_non_null(strstr(text,
	    "msg=\"one?<3>two?[2J? \\\"quoted\\\" back\\\\slash\""));
}

static void
json_lines_are_json(void **state)
{
	auto_json json_t *v = NULL;

	(void)state;
	log_open("prog", LOG_INFO, LOG_JSON);
	log_context("r\"1", "s1");
	log_line(LOG_INFO, "a", "say \"hi\"\t\\o/");
	v = logged_json();
	assert_non_null(v);
	assert_string_equal(json_str(v, "request"), "r\"1");
	assert_string_equal(json_str(v, "msg"), "say \"hi\"?\\o/");
	assert_string_equal(json_str(v, "level"), "info");
}

static void
bytes_that_are_no_text_do_not_spoil_a_line(void **state)
{
	static const struct {
		const char *msg, *want;
	} CASES[] = {
		{ "\xc3\xbc \xe2\x82\xac \xf0\x9f\x99\x82",
		    "\xc3\xbc \xe2\x82\xac \xf0\x9f\x99\x82" },
		{ "a\xff"
		  "b",
		    "a?b" },
		{ "cut \xe2\x82", "cut ??" },
		{ "\xc0\x80", "??" },           /* overlong */
		{ "\xed\xa0\x80", "???" },      /* half a pair */
		{ "\xf4\x90\x80\x80", "????" }, /* beyond Unicode */
		{ "\xe2\x82\"", "??\"" },
	};

	(void)state;
	log_open("prog", LOG_INFO, LOG_JSON);
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *v = NULL;

		log_line(LOG_INFO, "a", "%s", CASES[i].msg);
		v = logged_json();
		assert_non_null(v);
		assert_string_equal(json_str(v, "msg"), CASES[i].want);
	}
}

static void
the_longest_line_is_still_whole(void **state)
{
	auto_json json_t *v = NULL;
	char quotes[4096];

	(void)state;
	memset(quotes, '"', sizeof(quotes) - 1);
	quotes[sizeof(quotes) - 1] = '\0';
	log_open("prog", LOG_INFO, LOG_JSON);
	log_context(quotes, quotes);
	log_line(LOG_INFO, "a", "%s", quotes);
	v = logged_json();
	assert_non_null(v);
	assert_int_equal(strlen(json_str(v, "session")), 63);
	assert_int_equal(strlen(json_str(v, "msg")), 2 * ERR_MSG_MAX - 1);
}

static void
an_error_is_told_with_its_code(void **state)
{
	struct err e = { 0 };

	(void)state;
	log_open("prog", LOG_INFO, LOG_KV);
	err_set(&e, ERR_BUSY, CODE_LEASE_BUSY, "by another");
	log_err(LOG_ERROR, "start", &e);
	assert_non_null(strstr(logged(), "msg=\"lease_busy: by another\""));
	e = (struct err){ 0 };
	log_err(LOG_ERROR, "start", &e);
	assert_non_null(strstr(logged(), "msg=\"internal: \""));
}

#define CAUGHT(t)                                                              \
	cmocka_unit_test_setup_teardown(t, catch_stderr, release_stderr)

static void
a_file_with_a_limit_keeps_its_newer_half(void **state)
{
	char name[] = "/tmp/sl-log-XXXXXX", text[8192] = "";
	int fd = mkostemp(name, O_APPEND);

	(void)state;
	assert_true(fd >= 0);
	dup2(fd, STDERR_FILENO);
	log_open("prog", LOG_INFO, LOG_KV);
	log_limit(4096);
	for (int i = 0; i < 200; i++)
		log_line(LOG_INFO, "count", "number %d.", i);
	log_limit(0);
	assert_true(lseek(fd, 0, SEEK_END) <= 4096);
	assert_true(pread(fd, text, sizeof(text) - 1, 0) > 0);
	assert_true(strncmp(text, "at=", 3) == 0); /* whole lines only */
	assert_non_null(strstr(text, "number 199."));
	assert_null(strstr(text, "number 0."));
	close(fd);
	unlink(name);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		CAUGHT(a_line_says_when_who_and_what),
		CAUGHT(only_the_journal_is_told_a_priority),
		CAUGHT(the_level_is_a_threshold),
		CAUGHT(context_stands_in_every_line_until_cleared),
		CAUGHT(control_characters_cannot_forge_a_line),
		CAUGHT(json_lines_are_json),
		CAUGHT(bytes_that_are_no_text_do_not_spoil_a_line),
		CAUGHT(the_longest_line_is_still_whole),
		CAUGHT(an_error_is_told_with_its_code),
		CAUGHT(a_file_with_a_limit_keeps_its_newer_half),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
