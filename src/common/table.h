/*
 * table.h: prints rows of text in columns on standard output.
 *
 * A column is as wide as its widest cell; the last column is not padded.  Cells
 * may hold text of a tenant, so control characters, which a terminal would
 * obey, are replaced.
 */
#ifndef SANDLEASE_COMMON_TABLE_H
#define SANDLEASE_COMMON_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define TABLE_WHOLE SIZE_MAX

/* The caller sets titles, columns and gives; the rest starts with 0. */
struct table {
	const char *const *titles;
	size_t columns;
	/*
	 * The column whose cells are cut on a terminal that is too narrow for a
	 * line; TABLE_WHOLE: none.
	 */
	size_t gives;
	/* the rest is private */
	char **cell; /* row by row */
	size_t count;
	size_t *widths; /* NULL until the titles are printed */
};

/* Adds a row: copies t->columns cells; "" is shown as "-". */
void table_add(struct table *t, const char *const *cells);

/*
 * Prints the rows that were added since the last call and frees them.  The
 * first call also prints the titles and fixes the widths, so a later row may be
 * wider than its column.
 */
void table_print(struct table *t);

void table_free(struct table *t);

/* table_print(), then table_free(). */
void table_end(struct table *t);

#endif
