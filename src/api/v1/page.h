/*
 * page.h: divides lists into pages, newest first (?limit= and ?cursor=).
 *
 * The list's statement has columns `id` and `at`.  It is asked for one row more
 * than the page holds; that row says that there is a next page.
 */
#ifndef SANDLEASE_API_V1_PAGE_H
#define SANDLEASE_API_V1_PAGE_H

#include <stdint.h>

#include "common/json.h"
#include "store/store.h"
#include "web/call.h"

enum { PAGE_CURSOR_MAX = 64, PAGE_ASK_MAX = 16 };

struct page {
	int64_t size;
	const char *at, *id;    /* of the last row of the page before, or "" */
	char ask[PAGE_ASK_MAX]; /* size + 1, for the statement */
	char cursor[PAGE_CURSOR_MAX]; /* `at` and `id` point here */
};

/* Reads limit and cursor.  *p must not be copied: it points into itself. */
int page_read(const struct call *c, struct page *p, struct err *e) MUST_CHECK;

/* How many of the rows belong to the page. */
size_t page_count(const struct page *p, const struct rows *r);

/* The cursor of the next page, or JSON's null; the caller owns it. */
json_t *page_next(const struct page *p, const struct rows *r);

#endif
