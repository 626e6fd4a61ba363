/* table_test.c: tests rows of text in columns. */
#include "t/unit/unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/table.h"

static const char *const TITLES[] = { "ID", "NAME", "STATE" };

/* Stdout goes into a file from capture() to printed(). */
struct captured {
	FILE *file;
	int before;
};

static struct captured
capture(void)
{
	struct captured c = { tmpfile(), -1 };

	fflush(stdout);
	c.before = dup(STDOUT_FILENO);
	assert_non_null(c.file);
	assert_true(dup2(fileno(c.file), STDOUT_FILENO) >= 0);
	return c;
}

static void
printed(struct captured c, const char *want)
{
	char got[1024];
	size_t len;

	fflush(stdout);
	assert_true(dup2(c.before, STDOUT_FILENO) >= 0);
	close(c.before);
	rewind(c.file);
	len = fread(got, 1, sizeof(got) - 1, c.file);
	got[len] = '\0';
	fclose(c.file);
	assert_string_equal(got, want);
}

static void
columns_are_as_wide_as_their_widest_cell(void **state)
{
	struct table t = { TITLES, ARRAY_LEN(TITLES), TABLE_WHOLE };
	struct captured c = capture();

	(void)state;
	table_add(&t, (const char *const[]){ "abc", "x", "ready" });
	table_add(&t, (const char *const[]){ "d", "longer", "asleep" });
	table_end(&t);
	printed(c,
	    "ID   NAME    STATE\n"
	    "abc  x       ready\n"
	    "d    longer  asleep\n");
}

static void
a_table_without_rows_has_titles(void **state)
{
	struct table t = { TITLES, ARRAY_LEN(TITLES), 1 };
	struct captured c = capture();

	(void)state;
	table_end(&t);
	printed(c, "ID  NAME  STATE\n");
}

static void
nothing_and_controls_can_be_seen(void **state)
{
	struct table t = { TITLES, ARRAY_LEN(TITLES), TABLE_WHOLE };
	struct captured c = capture();

	(void)state;
	table_add(&t, (const char *const[]){ "", "a\nb\033", "" });
	table_end(&t);
	printed(c,
	    "ID  NAME  STATE\n"
	    "-   a?b?  -\n");
}

static void
characters_are_counted_and_not_bytes(void **state)
{
	struct table t = { TITLES, ARRAY_LEN(TITLES), TABLE_WHOLE };
	struct captured c = capture();

	(void)state;
	table_add(&t, (const char *const[]){ "a", "\xc3\xbc\xc3\xbc", "b" });
	table_add(&t, (const char *const[]){ "a", "abcde", "b" });
	table_end(&t);
	printed(c,
	    "ID  NAME   STATE\n"
	    "a   \xc3\xbc\xc3\xbc     b\n"
	    "a   abcde  b\n");
}

static void
later_rows_keep_the_first_widths(void **state)
{
	struct table t = { TITLES, ARRAY_LEN(TITLES), TABLE_WHOLE };
	struct captured c = capture();

	(void)state;
	table_add(&t, (const char *const[]){ "a", "b", "c" });
	table_print(&t);
	table_add(&t, (const char *const[]){ "a", "wider than that", "c" });
	table_add(&t, (const char *const[]){ "a", "b", "c" });
	table_print(&t);
	table_free(&t);
	printed(c,
	    "ID  NAME  STATE\n"
	    "a   b     c\n"
	    "a   wider than that  c\n"
	    "a   b     c\n");
}

/* A terminal of so many columns that changes no newline; *master reads it. */
static int
open_terminal(unsigned short columns, int *master)
{
	struct winsize ws = { .ws_col = columns };
	struct termios raw;
	int fd;

	*master = posix_openpt(O_RDWR | O_NOCTTY);
	assert_true(*master >= 0);
	assert_int_equal(unlockpt(*master), 0);
	fd = open(ptsname(*master), O_RDWR | O_NOCTTY);
	assert_true(fd >= 0);
	assert_int_equal(tcgetattr(fd, &raw), 0);
	cfmakeraw(&raw);
	assert_int_equal(tcsetattr(fd, TCSANOW, &raw), 0);
	assert_int_equal(ioctl(fd, TIOCSWINSZ, &ws), 0);
	return fd;
}

static void
a_column_gives_way_on_a_narrow_terminal(void **state)
{
	static const char WANT[] = "ID  NAME            STATE\n"
				   "a   a name that \xc3\xbc~  ready\n";
	struct table t = { TITLES, ARRAY_LEN(TITLES), 1 };
	int master, terminal = open_terminal(25, &master);
	char got[sizeof(WANT)] = "";
	int before;

	(void)state;
	fflush(stdout);
	before = dup(STDOUT_FILENO);
	assert_true(dup2(terminal, STDOUT_FILENO) >= 0);
	table_add(&t,
	    (const char *const[]){ "a", "a name that \xc3\xbc is long",
		"ready" });
	table_end(&t);
	fflush(stdout);
	assert_true(dup2(before, STDOUT_FILENO) >= 0);
	close(before);
	assert_int_equal(read(master, got, sizeof(got) - 1), sizeof(got) - 1);
	assert_string_equal(got, WANT);
	close(terminal);
	close(master);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_are_as_wide_as_their_widest_cell),
		cmocka_unit_test(a_table_without_rows_has_titles),
		cmocka_unit_test(nothing_and_controls_can_be_seen),
		cmocka_unit_test(characters_are_counted_and_not_bytes),
		cmocka_unit_test(later_rows_keep_the_first_widths),
		cmocka_unit_test(a_column_gives_way_on_a_narrow_terminal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
