/*
 * reply_rows.h: answers with rows of the database.
 *
 * The statement has a column `json`, which is what the client is shown of a row.
 */
#ifndef SANDLEASE_API_V1_REPLY_ROWS_H
#define SANDLEASE_API_V1_REPLY_ROWS_H

#include "api/v1/page.h"

/* Answers with the first row, which must be there. */
int reply_row(struct call *c, int status, const struct rows *r, struct err *e)
    MUST_CHECK;

/* {name: [...]}: all rows. */
int reply_rows(struct call *c, const char *name, const struct rows *r,
    struct err *e) MUST_CHECK;

/* {name: [...], nextCursor}: the rows of a page. */
int reply_page(struct call *c, const char *name, const struct page *p,
    const struct rows *r, struct err *e) MUST_CHECK;

#endif
