/*
 * list.h: rows of the database as a table or as JSON.
 *
 * A statement answers each row as one JSON object (column `json`) and where the
 * next page begins (column `next`).  A table shows members of that object, so
 * both forms say the same.  Rows are read and printed a page at a time: a
 * hundred thousand of them take no more memory than a thousand.
 */
#ifndef SANDLEASE_ADMIN_LIST_H
#define SANDLEASE_ADMIN_LIST_H

#include "admin/admin.h"
#include "common/json.h"

enum { LIST_FILTERS_MAX = 8 };

/* How a member is shown. */
enum column_form {
	COLUMN_TEXT,
	COLUMN_SPAN, /* seconds, as "3d4h" */
	COLUMN_JSON  /* an object on one line */
};

struct column {
	const char *title;
	const char *member;
	enum column_form form;
};

struct listing {
	/* Its parameters: the filters, `next` of the last row or "", how many. */
	enum stmt stmt;
	const char *filters[LIST_FILTERS_MAX]; /* NULL counts as "" */
	size_t filter_count;
	const struct column *columns;
	size_t column_count;
};

/* Prints as --json and --limit of the command at hand say. */
int list_print(struct admin *a, const struct listing *l, struct err *e)
    MUST_CHECK;

/* The same of objects that are in no table; at most a page of them. */
void list_print_array(const struct admin *a, const struct listing *l,
    const json_t *all);

/* The object `json` of the first row. */
int list_parse(const struct rows *r, json_t **out, struct err *e) MUST_CHECK;

/* Prints it: with --json as it is, else a line for each member. */
void list_print_one(const struct admin *a, const json_t *o);

#endif
