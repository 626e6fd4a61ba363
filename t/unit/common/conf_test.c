/* conf_test.c: tests the settings, one row each. */
#include "../unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/conf.h"
#include "common/log.h"
#include "common/mem.h"

static int
parse(const char *text, struct conf *c, struct err *e)
{
	auto_free char *copy = xstrdup(text);

	return conf_parse("a.conf", copy, c, e);
}

/* The output of conf_print() or conf_print_help(). */
static char *
printed(const struct conf *c)
{
	char *text = NULL;
	size_t len;
	FILE *f = open_memstream(&text, &len);

	if (c != NULL)
		conf_print(c, f);
	else
		conf_print_help(f);
	fclose(f);
	return text;
}

static void
nothing_said_means_defaults(void **state)
{
	struct err e = { 0 };
	struct conf c;

	(void)state;
	assert_int_equal(parse("", &c, &e), 0);
	assert_string_equal(c.run_dir, "/run/sandlease");
	assert_string_equal(c.per_session_orgs, "");
	assert_int_equal(c.sleep_after_seconds, 600);
	assert_int_equal(c.log_level, LOG_INFO);
	assert_int_equal(c.log_format, LOG_KV);
}

/* Operators rely on these defaults, and other tests set their own values. */
static void
the_figures_that_ship_are_these(void **state)
{
	struct err e = { 0 };
	struct conf c;

	(void)state;
	assert_int_equal(parse("", &c, &e), 0);
	assert_int_equal(c.startup_allowance_seconds, 10 * 60);
	assert_int_equal(c.ready_without_work_seconds, 60);
	assert_int_equal(c.stop_watchdog_seconds, 45);
	assert_int_equal(c.stop_retry_seconds.count, 4);
	assert_int_equal(c.stop_retry_seconds.at[0], 5);
	assert_int_equal(c.stop_retry_seconds.at[1], 30);
	assert_int_equal(c.stop_retry_seconds.at[2], 120);
	assert_int_equal(c.stop_retry_seconds.at[3], 300);
	assert_int_equal(c.stop_looks_ms.count, 3);
	assert_int_equal(c.stop_looks_ms.at[0], 100);
	assert_int_equal(c.stop_looks_ms.at[1], 500);
	assert_int_equal(c.stop_looks_ms.at[2], 1000);
	assert_int_equal(c.discovery_seconds, 10);
	assert_int_equal(c.activity_write_seconds, 30);
	assert_int_equal(c.sandbox_idle_seconds, 10 * 60);
	assert_int_equal(c.orphan_seconds, 10 * 60);
	assert_int_equal(c.stuck_seconds, 30 * 60);
	assert_int_equal(c.too_old_seconds, 24 * 60 * 60);
	assert_int_equal(c.failed_files_seconds, 24 * 60 * 60);
	assert_int_equal(c.sighting_seconds, 5 * 60);
	assert_int_equal(c.reaper_batch, 50);
	assert_int_equal(c.reaper_retry_percent, 20);
	assert_int_equal(c.retention_days, 90);
	assert_int_equal(c.capacity_min_mb, 2048);
	assert_int_equal(c.quota_sessions, 1000);
	assert_int_equal(c.quota_active, 100);
	assert_int_equal(c.quota_creates_per_minute, 120);
	assert_int_equal(c.quota_previews, 50);
	assert_int_equal(c.quota_disk_mb, 0);
}

static void
lines_are_key_and_value(void **state)
{
	struct err e = { 0 };
	struct conf c;

	(void)state;
	assert_int_equal(parse("# a comment\n"
			       "\n"
			       "  run_dir=/r\n"
			       "database = host=/x dbname=y # z\n"
			       "\tapi_workers\t=\t 3 \r\n"
			       "log_level = debug\n"
			       "stop_retry_seconds = 7,70\n"
			       "log_format = json",
			     &c, &e),
	    0);
	assert_int_equal(c.stop_retry_seconds.count, 2);
	assert_int_equal(c.stop_retry_seconds.at[1], 70);
	assert_int_equal(c.stop_looks_ms.count, 3);
	assert_string_equal(c.run_dir, "/r");
	/* only the first '=' separates, and '#' begins a comment on its own
	 * line only: both may be in a value */
	assert_string_equal(c.database, "host=/x dbname=y # z");
	assert_int_equal(c.api_workers, 3);
	assert_int_equal(c.log_level, LOG_DEBUG);
	assert_int_equal(c.log_format, LOG_JSON);
}

static void
mistakes_stop_with_file_and_line(void **state)
{
	static const struct {
		const char *text, *says;
	} CASES[] = {
		{ "nonsense\n", "a.conf:1: must be key = value" },
		{ "\n\nrun_dirr = x\n", "a.conf:3: run_dirr is not a setting" },
		{ "run_dir = a\nrun_dir = a\n",
		    "a.conf:2: run_dir is set twice" },
		{ "api_workers = 0\n",
		    "a.conf:1: api_workers: must be a number from 1 to 256" },
		{ "api_workers = many\n",
		    "a.conf:1: api_workers: must be a number from 1 to 256" },
		{ "api_workers =\n",
		    "a.conf:1: api_workers: must be a number from 1 to 256" },
		{ "log_level = loud\n",
		    "a.conf:1: log_level: must be `error`" },
		{ "stop_retry_seconds = 1,x\n",
		    "stop_retry_seconds: must be 1 to 8 numbers from 1" },
		{ "stop_retry_seconds =\n", "must be 1 to 8 numbers" },
		{ "stop_retry_seconds = 1,0\n", "must be 1 to 8 numbers" },
		{ "stop_looks_ms = 1,2,3,4,5,6,7,8,9\n",
		    "stop_looks_ms: must be 1 to 8 numbers" },
		{ " = x\n", "a.conf:1:  is not a setting" },
		{ "run_dir = /a/directory/that/leaves/no/room/for/names\n",
		    "a.conf:1: run_dir: longer than 35 bytes" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };
		struct conf c;

		assert_int_equal(parse(CASES[i].text, &c, &e), -1);
		assert_int_equal(e.kind, ERR_INVALID);
		assert_non_null(strstr(e.msg, CASES[i].says));
	}
}

static void
a_value_as_long_as_the_field_is_refused(void **state)
{
	char text[CONF_STR_MAX + 32];
	struct err e = { 0 };
	struct conf c;
	size_t head = (size_t)snprintf(text, sizeof(text), "state_dir = ");

	(void)state;
	memset(text + head, 'x', CONF_STR_MAX);
	text[head + CONF_STR_MAX] = '\0';
	assert_int_equal(parse(text, &c, &e), -1);
	text[head + CONF_STR_MAX - 1] = '\0';
	assert_int_equal(parse(text, &c, &e), 0);
	assert_int_equal(strlen(c.state_dir), CONF_STR_MAX - 1);
}

static void
what_is_printed_can_be_read_back(void **state)
{
	auto_free char *first = NULL, *second = NULL;
	struct err e = { 0 };
	struct conf c;

	(void)state;
	assert_int_equal(parse("host_name = h\nlog_level = warn\n"
			       "retention_days = 7\n",
			     &c, &e),
	    0);
	first = printed(&c);
	assert_non_null(strstr(first, "log_level = warn\n"));
	assert_non_null(strstr(first, "retention_days = 7\n"));
	assert_int_equal(parse(first, &c, &e), 0);
	second = printed(&c);
	assert_string_equal(first, second);
}

static void
help_is_rows_of_a_table(void **state)
{
	auto_free char *help = printed(NULL);
	auto_free char *text = NULL;
	struct err e = { 0 };
	size_t rows = 0, settings = 0;
	struct conf c;

	(void)state;
	assert_int_equal(parse("", &c, &e), 0);
	text = printed(&c);
	for (const char *s = help; (s = strstr(s, "| `")) != NULL; s++)
		rows += s == help || s[-1] == '\n';
	for (const char *s = text; (s = strchr(s, '\n')) != NULL; s++)
		settings++;
	assert_int_equal(rows, settings);
	assert_non_null(
	    strstr(help, "| `sleep_after_seconds` | `600` | an idle session"));
}

/* ---- files and the environment */

struct file {
	char path[64];
};

static int
make_file(void **state)
{
	static struct file f;
	int fd;

	snprintf(f.path, sizeof(f.path), "/tmp/conf_test.XXXXXX");
	fd = mkstemp(f.path);
	if (fd < 0)
		return -1;
	close(fd);
	*state = &f;
	return 0;
}

static int
remove_file(void **state)
{
	struct file *f = *state;

	unlink(f->path);
	unsetenv("PER_SESSION_SANDBOX_ORG_IDS");
	unsetenv("SANDLEASE_CONFIG");
	return 0;
}

static void
write_file(const struct file *f, const char *text)
{
	FILE *out = fopen(f->path, "w");

	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void
the_environment_adds_orgs(void **state)
{
	struct err e = { 0 };
	struct conf c;

	write_file(*state, "per_session_orgs = one\n");
	setenv("PER_SESSION_SANDBOX_ORG_IDS", "two, three", 1);
	assert_int_equal(conf_load(((struct file *)*state)->path, &c, &e), 0);
	assert_string_equal(c.per_session_orgs, "one,two, three");
	setenv("PER_SESSION_SANDBOX_ORG_IDS", "", 1);
	assert_int_equal(conf_load(((struct file *)*state)->path, &c, &e), 0);
	assert_string_equal(c.per_session_orgs, "one");
	assert_true(c.host_name[0] != '\0');
}

static void
the_file_may_be_named_by_the_environment(void **state)
{
	struct err e = { 0 };
	struct conf c;

	write_file(*state, "host_name = named\n");
	setenv("SANDLEASE_CONFIG", ((struct file *)*state)->path, 1);
	assert_int_equal(conf_load(NULL, &c, &e), 0);
	assert_string_equal(c.host_name, "named");
	setenv("SANDLEASE_CONFIG", "/does/not/exist", 1);
	assert_int_equal(conf_load(NULL, &c, &e), -1);
	assert_non_null(strstr(e.msg, "/does/not/exist: No such file"));
}

static void
a_file_is_read_whole_or_not_at_all(void **state)
{
	enum { MUCH = 70000 };
	auto_free char *text = xcalloc(1, MUCH + 1);
	struct err e = { 0 };
	struct conf c;

	memset(text, '#', MUCH);
	write_file(*state, text);
	assert_int_equal(conf_load(((struct file *)*state)->path, &c, &e), -1);
	assert_non_null(strstr(e.msg, "has more than"));
}

/* Clients get addresses that begin with these settings. */
static void
addresses_are_origins(void **state)
{
	static const struct {
		const char *text, *says; /* NULL: it is accepted */
	} CASES[] = {
		{ "public_url = https://sandlease.example.com", NULL },
		{ "public_url = http://10.0.0.1:8080", NULL },
		{ "public_url = https://[fd00::1]:8443", NULL },
		{ "public_url = sandlease.example.com", "public_url: must be" },
		{ "public_url =", "public_url: must be" },
		{ "public_url = https://", "public_url: must be" },
		{ "public_url = https://a.example.com.", "public_url: must" },
		{ "public_url = https://a.example.com/", "without a path" },
		{ "public_url = https://a.example.com:", "public_url: must" },
		{ "public_url = https://a.example.com:x", "public_url: must" },
		{ "public_url = https://u@a.example.com", "public_url: must" },
		{ "public_url = https://m\xc3\xbcller.de", "public_url: must" },
		{ "public_url = https://[fd00::1", "public_url: must be" },
		{ "preview_base = https://previews.example.net:8443", NULL },
		{ "preview_base = http://localhost:8080", NULL },
		{ "preview_base = http://x.localhost", NULL },
		{ "preview_base =", NULL },
		{ "webhook_allow_private = 10.1.2.0/24, ::1", NULL },
		{ "webhook_allow_private = 10.1.2.0/33",
		    "webhook_allow_private: \"10.1.2.0/33\" is not" },
		{ "preview_base = https://previews.example.net/", "without" },
		{ "preview_base = previews.example.net", "preview_base: must" },
		{ "preview_base = http://previews.example.net", "be https" },
		{ "preview_base = HTTP://previews.example.net", "must be" },
		{ "preview_base = http://localhost.example.net", "be https" },
		{ "preview_base = http://notlocalhost", "be https" },
		{ "preview_path_base = http://127.0.0.1:8081", NULL },
		{ "preview_path_base = http://10.0.0.1:8081", "be https" },
		{ "preview_path_base = https://p.example.net/p", "without" },
	};

	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct err e = { 0 };
		struct conf c;
		int rc;

		write_file(*state, CASES[i].text);
		rc = conf_load(((struct file *)*state)->path, &c, &e);
		if (rc != (CASES[i].says == NULL ? 0 : -1) ||
		    (rc < 0 && strstr(e.msg, CASES[i].says) == NULL))
			fail_msg("%s: %d %s", CASES[i].text, rc, e.msg);
	}
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(nothing_said_means_defaults),
		cmocka_unit_test(the_figures_that_ship_are_these),
		cmocka_unit_test(lines_are_key_and_value),
		cmocka_unit_test(mistakes_stop_with_file_and_line),
		cmocka_unit_test(a_value_as_long_as_the_field_is_refused),
		cmocka_unit_test(what_is_printed_can_be_read_back),
		cmocka_unit_test(help_is_rows_of_a_table),
		cmocka_unit_test_setup_teardown(the_environment_adds_orgs,
		    make_file, remove_file),
		cmocka_unit_test_setup_teardown(
		    the_file_may_be_named_by_the_environment, make_file,
		    remove_file),
		cmocka_unit_test_setup_teardown(
		    a_file_is_read_whole_or_not_at_all, make_file, remove_file),
		cmocka_unit_test_setup_teardown(addresses_are_origins,
		    make_file, remove_file),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
