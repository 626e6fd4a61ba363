/* show.c: output for people and for programs. */
#include "cli/show.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

enum { GAP = 2, SHORTEST = 8, FIELD = 11 };

void
show_json(const json_t *v)
{
	auto_free char *text = v != NULL ? json_text(v) : xstrdup("null");

	puts(text);
	fflush(stdout); /* who follows it is to see it now */
}

static bool
is_control(char c)
{
	return (unsigned char)c < 0x20 || c == 0x7f;
}

void
show_text(const char *text, FILE *to)
{
	for (; *text != '\0'; text++)
		if (!is_control(*text) || *text == '\n' || *text == '\t')
			fputc(*text, to);
}

void
show_problem(const char *text)
{
	/* in a pipe or file for both it must not stand before what led to it */
	fflush(stdout);
	fputs("sandlease: ", stderr);
	show_text(text, stderr);
	fputc('\n', stderr);
}

void
show_field(const char *title, const char *fmt, ...)
{
	auto_free char *value = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&value, fmt, args) < 0)
		value = NULL;
	va_end(args);
	show_text(title, stdout);
	if ((int)strlen(title) < FIELD)
		printf("%*s", FIELD - (int)strlen(title), "");
	putchar(' ');
	show_text(value != NULL ? value : "", stdout);
	putchar('\n');
}

void
show_age(const char *iso, char out[SHOW_AGE_MAX])
{
	static const struct {
		int64_t seconds;
		char letter;
	} UNITS[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	struct tm tm = { 0 };
	int64_t age;

	str_copy(out, SHOW_AGE_MAX, "-");
	if (strptime(iso, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return;
	age = (int64_t)time(NULL) - (int64_t)timegm(&tm);
	if (age < 0)
		age = 0;
	for (size_t i = 0; i < ARRAY_LEN(UNITS); i++)
		if (age >= UNITS[i].seconds || UNITS[i].seconds == 1) {
			snprintf(out, SHOW_AGE_MAX, "%d%c",
			    (int)(age / UNITS[i].seconds % 100000),
			    UNITS[i].letter);
			return;
		}
}

void
show_bytes(int64_t bytes, char out[SHOW_AGE_MAX])
{
	static const char *const UNITS[] = { "B", "kB", "MB", "GB", "TB" };
	double n = (double)bytes;
	size_t unit = 0;

	while (n >= 1000 && unit + 1 < ARRAY_LEN(UNITS)) {
		n /= 1000;
		unit++;
	}
	snprintf(out, SHOW_AGE_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", n,
	    UNITS[unit]);
}

/* ---- tables */

/* As a terminal has it, if each character has one column. */
static size_t
width(const char *s)
{
	size_t n = 0;

	for (; *s != '\0'; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

void
table_add(struct table *t, const char *const *cells)
{
	t->cell = xrealloc(t->cell, (t->count + t->columns) * sizeof(*t->cell));
	for (size_t i = 0; i < t->columns; i++) {
		char *copy = xstrdup(cells[i][0] != '\0' ? cells[i] : "-");

		for (char *s = copy; *s != '\0'; s++)
			if (is_control(*s))
				*s = '?';
		t->cell[t->count++] = copy;
	}
}

/* The widest cell of a column, the last one taking what it needs. */
static size_t
column_width(const struct table *t, size_t column)
{
	size_t max = width(t->titles[column]);

	for (size_t i = column; i < t->count; i += t->columns)
		if (width(t->cell[i]) > max)
			max = width(t->cell[i]);
	return max;
}

/* How much of the column that gives way is shown. */
static size_t
room_for(const struct table *t, const size_t *widths)
{
	size_t all = 0, others;
	struct winsize ws;

	if (!isatty(STDOUT_FILENO) ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) < 0 || ws.ws_col == 0)
		return widths[t->gives];
	for (size_t i = 0; i < t->columns; i++)
		all += widths[i] + (i > 0 ? GAP : 0);
	others = all - widths[t->gives];
	if (all <= ws.ws_col)
		return widths[t->gives];
	return others + SHORTEST < ws.ws_col ? ws.ws_col - others : SHORTEST;
}

/* At most `max` characters of it, padded unless it is the last. */
static void
print_cell(const char *s, size_t max, bool last)
{
	size_t n = 0, all = width(s);
	const char *end = s;

	while (*end != '\0') {
		bool starts = ((unsigned char)*end & 0xc0) != 0x80;

		if (starts && n == (all > max ? max - 1 : max))
			break;
		n += starts;
		end++;
	}
	fwrite(s, 1, (size_t)(end - s), stdout);
	if (all > max) {
		fputs("~", stdout);
		n++;
	}
	if (!last)
		printf("%*s", (int)(max - n) + GAP, "");
}

static void
print_line(const struct table *t, const char *const *cells,
    const size_t *widths)
{
	for (size_t i = 0; i < t->columns; i++)
		print_cell(cells[i], widths[i], i + 1 == t->columns);
	putchar('\n');
}

void
table_end(struct table *t)
{
	auto_free size_t *widths = xcalloc(t->columns, sizeof(*widths));

	for (size_t i = 0; i < t->columns; i++)
		widths[i] = column_width(t, i);
	widths[t->gives] = room_for(t, widths);
	print_line(t, t->titles, widths);
	for (size_t i = 0; i < t->count; i += t->columns)
		print_line(t, (const char *const *)t->cell + i, widths);
	for (size_t i = 0; i < t->count; i++)
		free(t->cell[i]);
	free(t->cell);
	t->cell = NULL;
	t->count = 0;
}
