/* list.c: prints rows of the database as a table or as JSON. */
#include "admin/list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "admin/network_spec.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/table.h"
#include "common/utf8.h"

enum {
	PAGE = 1000,
	LIMIT_DEFAULT = 1000,
	LIMIT_MAX = 1000 * 1000 * 1000,
	COLUMNS_MAX = 16,
	START_MAX = 40
};

/* The rows of one page, parsed: objects[0] to objects[count - 1]. */
struct page {
	json_t *objects[PAGE];
	size_t count;
	char *next; /* owned: where the next page begins */
};

static void
page_clear(struct page *p)
{
	for (size_t i = 0; i < p->count; i++)
		json_decref(p->objects[i]);
	p->count = 0;
}

/* ---- one value */

/* "45s", "12m3s", "5h2m", "3d4h": two units say enough. */
static char *
span_text(int64_t seconds)
{
	static const struct {
		int64_t seconds;
		char letter;
	} UNITS[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	size_t i = 0;

	if (seconds < 0)
		seconds = 0;
	while (i + 1 < ARRAY_LEN(UNITS) && seconds < UNITS[i].seconds)
		i++;
	if (i + 1 == ARRAY_LEN(UNITS))
		return xasprintf("%" PRId64 "s", seconds);
	return xasprintf("%" PRId64 "%c%" PRId64 "%c",
	    seconds / UNITS[i].seconds, UNITS[i].letter,
	    seconds % UNITS[i].seconds / UNITS[i + 1].seconds,
	    UNITS[i + 1].letter);
}

static char *
start_text(const char *s)
{
	size_t len = strlen(s);

	if (len <= START_MAX)
		return xstrdup(s);
	return xasprintf("%.*s...", (int)utf8_whole(s, START_MAX), s);
}

/* A JSON value as text for people; "-" for null and "". */
static char *
value_text(const json_t *v, enum column_form form)
{
	char *text;

	if (v == NULL || json_is_null(v) ||
	    (json_is_string(v) && json_string_length(v) == 0))
		text = xstrdup("-");
	else if (form == COLUMN_SPAN && json_is_integer(v))
		text = span_text(json_integer_value(v));
	else if (form == COLUMN_POLICY)
		text = network_spec_text(v);
	else if (form == COLUMN_START && json_is_string(v))
		text = start_text(json_string_value(v));
	else if (json_is_string(v))
		text = xstrdup(json_string_value(v));
	else if (json_is_boolean(v))
		text = xstrdup(json_is_true(v) ? "yes" : "no");
	else
		text = json_text(v);
	str_mask_controls(text);
	return text;
}

/* ---- rows */

static int
read_page(struct admin *a, const struct listing *l, int64_t count,
    struct page *p, struct err *e)
{
	const char *params[LIST_FILTERS_MAX + 3] = { NULL };
	auto_rows struct rows *r = NULL;
	char most[24];
	size_t n = 1; /* params[0] is unused: see STORE_RUN() */

	snprintf(most, sizeof(most), "%" PRId64, count);
	for (size_t i = 0; i < l->filter_count; i++)
		params[n++] = l->filters[i] != NULL ? l->filters[i] : "";
	params[n++] = p->next != NULL ? p->next : "";
	params[n++] = most;
	if (store_run(a->store, l->stmt, params, n - 1, &r, e) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r); i++) {
		if (rows_json(r, i, "json", &p->objects[p->count], e) < 0)
			return -1;
		p->count++;
	}
	if (p->count > 0) {
		free(p->next);
		p->next = xstrdup(rows_text(r, p->count - 1, "next"));
	}
	return 0;
}

/* An empty table for this listing; `titles` is memory for its titles. */
static struct table
make_table(const struct listing *l, const char *titles[COLUMNS_MAX])
{
	for (size_t c = 0; c < l->column_count; c++)
		titles[c] = l->columns[c].title;
	return (struct table){ titles, l->column_count, TABLE_WHOLE };
}

static void
add_row(const struct listing *l, const json_t *o, struct table *t)
{
	char *text[COLUMNS_MAX];

	for (size_t c = 0; c < l->column_count; c++)
		text[c] = value_text(json_object_get(o, l->columns[c].member),
		    l->columns[c].form);
	table_add(t, (const char *const *)text);
	for (size_t c = 0; c < l->column_count; c++)
		free(text[c]);
}

static void
print_page(const struct listing *l, const struct page *p, bool json,
    struct table *t)
{
	for (size_t i = 0; i < p->count; i++) {
		if (json) {
			auto_free char *line = json_text(p->objects[i]);

			puts(line);
		} else {
			add_row(l, p->objects[i], t);
		}
	}
	if (!json)
		table_print(t);
}

void
list_print_array(const struct admin *a, const struct listing *l,
    const json_t *all)
{
	struct page *p = xcalloc(1, sizeof(*p));
	bool json = admin_flag(a, "--json");
	const char *titles[COLUMNS_MAX];
	struct table t = make_table(l, titles);

	for (; p->count < json_array_size(all) && p->count < PAGE; p->count++)
		p->objects[p->count] =
		    json_incref(json_array_get(all, p->count));
	print_page(l, p, json, &t);
	table_free(&t);
	page_clear(p);
	free(p);
}

/* Reads one row more than it prints, to know whether there are more. */
static int
print_rows(struct admin *a, const struct listing *l, int64_t limit,
    struct page *p, struct table *t, struct err *e)
{
	bool json = admin_flag(a, "--json");
	int64_t left = limit;

	for (;;) {
		int64_t want = left < PAGE ? left : PAGE - 1;

		if (read_page(a, l, want + 1, p, e) < 0)
			return -1;
		left -= (int64_t)p->count;
		if (left < 0) {
			json_decref(p->objects[--p->count]);
			print_page(l, p, json, t);
			fprintf(stderr,
			    "sandlease-admin: there are more than %" PRId64
			    " rows; --limit 0 shows all\n",
			    limit);
			return 0;
		}
		print_page(l, p, json, t);
		if (p->count < (size_t)want + 1)
			return 0;
		page_clear(p);
	}
}

int
list_print(struct admin *a, const struct listing *l, struct err *e)
{
	const char *text = admin_option(a, "--limit");
	const char *titles[COLUMNS_MAX];
	int64_t limit = LIMIT_DEFAULT;
	struct table t;
	struct page *p;
	int rc;

	if (l->column_count > COLUMNS_MAX)
		abort();
	if (text != NULL && !str_to_int(text, 0, LIMIT_MAX, &limit))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--limit %s: must be a number, 0 for all", text);
	p = xcalloc(1, sizeof(*p));
	t = make_table(l, titles);
	rc = print_rows(a, l, limit > 0 ? limit : INT64_MAX, p, &t, e);
	table_free(&t);
	page_clear(p);
	free(p->next);
	free(p);
	return rc;
}

/* ---- one object */

/* The name of a nested member is "lease.state"; an array is a line of JSON. */
static void
print_members(const json_t *o, const char *prefix)
{
	const char *key;
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)o, key, v)
	{
		auto_free char *name = xasprintf("%s%s", prefix, key);

		if (json_is_object(v) && json_object_size(v) > 0) {
			auto_free char *below = xasprintf("%s.", name);

			print_members(v, below);
		} else {
			auto_free char *text = value_text(v, COLUMN_TEXT);

			str_mask_controls(name);
			printf("%-28s %s\n", name, text);
		}
	}
}

void
list_print_one(const struct admin *a, const json_t *o)
{
	auto_free char *line = json_text(o);

	if (admin_flag(a, "--json"))
		puts(line);
	else
		print_members(o, "");
}
