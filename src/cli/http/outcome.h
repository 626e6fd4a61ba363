/*
 * outcome.h: why an HTTP call failed, in words for people.
 *
 * Most failures are a URL or a key that somebody has mistyped, so the words say
 * what to look at.  transfer.h says what e->code is.
 */
#ifndef SANDLEASE_CLI_HTTP_OUTCOME_H
#define SANDLEASE_CLI_HTTP_OUTCOME_H

#include <curl/curl.h>
#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"

struct outcome {
	const char *service; /* the URL of the service */
	const char *url;     /* what was called */
	bool ours;           /* a path of the service; false: another URL */
	const char *method;  /* NULL: GET */
	const char *path;
	long status; /* 0: there was no answer */
	const struct buf *answer;
	CURLcode rc;
	CURLcode step;   /* the same, but of a timeout the step it was in */
	const char *why; /* curl's words for rc */
};

/* 0 when the call was successful. */
int outcome_explain(const struct outcome *o, struct err *e) MUST_CHECK;

#endif
