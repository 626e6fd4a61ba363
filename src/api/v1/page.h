/*
 * page.h: lists, newest first, a page at a time: ?limit= and ?cursor=.
 *
 * The statement has columns `id` and `at`, and answers one row more than the
 * page has when there are more.
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
	char ask[PAGE_ASK_MAX]; /* rows, for the statement */
	char cursor[PAGE_CURSOR_MAX]; /* `at` and `id` point here */
};

/* *p must stay where it is. */
int page_read(const struct call *c, struct page *p, struct err *e) MUST_CHECK;

/* How many of the rows belong to it. */
size_t page_count(const struct page *p, const struct rows *r);

/* The cursor of the next one, or null; the caller's. */
json_t *page_next(const struct page *p, const struct rows *r);

#endif
