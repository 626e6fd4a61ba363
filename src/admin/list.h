/*
 * list.h: prints rows of the database as a table or as JSON.
 *
 * A statement returns each row as one JSON object (column `json`), and where
 * the next page begins (column `next`).  The table shows members of that
 * object, so both forms have the same values.  Rows are read and printed a page
 * at a time, so a long list needs no more memory than a page of 1000 rows.
 */
#ifndef SANDLEASE_ADMIN_LIST_H
#define SANDLEASE_ADMIN_LIST_H

#include "admin/admin.h"
#include "common/json.h"

enum { LIST_FILTERS_MAX = 8 };

/* How the table shows a member. */
enum column_form {
	COLUMN_TEXT,
	COLUMN_SPAN,   /* seconds, as "3d4h" */
	COLUMN_JSON,   /* an object on one line */
	COLUMN_POLICY, /* a network, as operators write it */
	COLUMN_START   /* a text, which is cut off if it is long */
};

struct column {
	const char *title;
	const char *member;
	enum column_form form;
};

struct listing {
	/* Parameters: the filters, `next` of the last row or "", the count. */
	enum stmt stmt;
	const char *filters[LIST_FILTERS_MAX]; /* NULL counts as "" */
	size_t filter_count;
	const struct column *columns;
	size_t column_count;
};

/* Prints the rows; --json and --limit of the command choose form and number. */
int list_print(struct admin *a, const struct listing *l, struct err *e)
    MUST_CHECK;

/* The same for objects that are not in the database; at most 1000. */
void list_print_array(const struct admin *a, const struct listing *l,
    const json_t *all);

/* Prints an object: with --json as JSON, else a line for each member. */
void list_print_one(const struct admin *a, const json_t *o);

#endif
