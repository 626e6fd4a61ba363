/*
 * outcome.h: explains to the user why an HTTP call failed.
 *
 * The cause is most often a wrong URL or key, so the error says what to check.
 * transfer.h lists the values of e->code.
 */
#ifndef SANDLEASE_CLI_HTTP_OUTCOME_H
#define SANDLEASE_CLI_HTTP_OUTCOME_H

#include <curl/curl.h>
#include <stdbool.h>

#include "common/err.h"
#include "common/str.h"

struct outcome {
	const char *service; /* the URL of the service */
	const char *url;     /* the URL of the call */
	bool ours;           /* `url` is below `service` */
	const char *method;  /* NULL: GET */
	const char *path;
	long status; /* 0: there was no answer */
	const struct buf *answer;
	CURLcode rc;
	CURLcode step;   /* rc; after a timeout, the step that timed out */
	const char *why; /* curl's text for rc */
};

/* 0 if the call succeeded, else -1 and the error. */
int outcome_explain(const struct outcome *o, struct err *e) MUST_CHECK;

#endif
