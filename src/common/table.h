/*
 * table.h: rows of text in columns, on standard output.
 *
 * A column is as wide as its widest cell, the last one as each row needs.  Cells
 * may hold what a tenant has chosen: control characters are masked, because a
 * terminal obeys them.
 */
#ifndef SANDLEASE_COMMON_TABLE_H
#define SANDLEASE_COMMON_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_WHOLE SIZE_MAX

/* Start with the first part. */
struct table {
	const char *const *titles;
	size_t columns;
	/*
	 * The column that is made shorter on a terminal that is too narrow for
	 * a line; TABLE_WHOLE: none is.
	 */
	size_t gives;
	/* the rest is the table's own */
	char **cell; /* row by row */
	size_t count;
	size_t *widths; /* NULL until the titles are printed */
};

/* Copies as many cells as there are columns; "" is shown as "-". */
void table_add(struct table *t, const char *const *cells);

/*
 * Prints the rows since the last time and forgets them.  The first time prints
 * the titles, too, and sets how wide columns are: a later row may be wider.
 */
void table_print(struct table *t);

void table_free(struct table *t);

/* Prints what is left of it and frees it. */
void table_end(struct table *t);

#endif
