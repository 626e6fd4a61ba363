/* table.c: prints rows of text in columns on standard output. */
#include "common/table.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

enum { GAP = 2, SHORTEST = 8 };

/* The width of s on a terminal, if each character takes one column. */
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

		str_mask_controls(copy);
		t->cell[t->count++] = copy;
	}
}

/* ---- printing */

static size_t
widest_cell(const struct table *t, size_t column)
{
	size_t max = width(t->titles[column]);

	for (size_t i = column; i < t->count; i += t->columns)
		if (width(t->cell[i]) > max)
			max = width(t->cell[i]);
	return max;
}

/* How wide column t->gives may be on this terminal. */
static size_t
room_for(const struct table *t)
{
	size_t all = 0, others;
	struct winsize ws;

	if (!isatty(STDOUT_FILENO) ||
	    ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) < 0 || ws.ws_col == 0)
		return t->widths[t->gives];
	for (size_t i = 0; i < t->columns; i++)
		all += t->widths[i] + (i > 0 ? GAP : 0);
	others = all - t->widths[t->gives];
	if (all <= ws.ws_col)
		return t->widths[t->gives];
	return others + SHORTEST < ws.ws_col ? ws.ws_col - others : SHORTEST;
}

/* The last cell is not padded: a line shall not end in blanks. */
static void
print_cell(const struct table *t, size_t column, const char *s)
{
	size_t max = t->widths[column], n = 0, all = width(s);
	bool cut = column == t->gives && all > max;
	const char *end = s;

	while (*end != '\0') {
		bool starts = ((unsigned char)*end & 0xc0) != 0x80;

		if (starts && cut && n == max - 1)
			break;
		n += starts;
		end++;
	}
	fwrite(s, 1, (size_t)(end - s), stdout);
	if (cut) {
		fputs("~", stdout);
		n++;
	}
	if (column + 1 < t->columns)
		printf("%*s", (int)(n < max ? max - n : 0) + GAP, "");
}

static void
print_line(const struct table *t, const char *const *cells)
{
	for (size_t i = 0; i < t->columns; i++)
		print_cell(t, i, cells[i]);
	putchar('\n');
}

static void
free_cells(struct table *t)
{
	for (size_t i = 0; i < t->count; i++)
		free(t->cell[i]);
	free(t->cell);
	t->cell = NULL;
	t->count = 0;
}

void
table_print(struct table *t)
{
	if (t->widths == NULL) {
		t->widths = xcalloc(t->columns, sizeof(*t->widths));
		for (size_t i = 0; i < t->columns; i++)
			t->widths[i] = widest_cell(t, i);
		if (t->gives != TABLE_WHOLE)
			t->widths[t->gives] = room_for(t);
		print_line(t, t->titles);
	}
	for (size_t i = 0; i < t->count; i += t->columns)
		print_line(t, (const char *const *)t->cell + i);
	free_cells(t);
}

void
table_free(struct table *t)
{
	free_cells(t);
	free(t->widths);
	t->widths = NULL;
}

void
table_end(struct table *t)
{
	table_print(t);
	table_free(t);
}
