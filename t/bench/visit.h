/*
 * visit.h: requests to the service, many at once, with little effort.
 *
 * A visit is a chain of requests over one connection: whoever is told that
 * one is answered sets the next one up, or says that this was all.  Two cores
 * are shared with the service that is being measured, so everything that can
 * be prepared is prepared before the clock runs.
 */
#ifndef SANDLEASE_BENCH_VISIT_H
#define SANDLEASE_BENCH_VISIT_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/err.h"
#include "common/str.h"

enum { VISIT_ID_MAX = 32 };

struct visit {
	CURL *easy;
	char session[VISIT_ID_MAX];
	struct buf answer;
	long status;
	int64_t began_us;    /* of the whole visit */
	int64_t sent_us;     /* of the request under way */
	int64_t answered_us; /* of the last answer */
	int step;
	bool failed;
};

/* Where the service is and who we are: SANDLEASE_URL, SANDLEASE_API_KEY. */
struct place {
	const char *url;
	struct curl_slist *headers;
};

int place_open(struct place *p, struct err *e) MUST_CHECK;
void place_close(struct place *p);

void visit_open(struct visit *v, const struct place *p);
void visit_close(struct visit *v);

/* The next request: path below the URL, and a JSON body (static) or NULL. */
void visit_ask(struct visit *v, const struct place *p, const char *method,
    const char *path, const char *body);

/* Called with each answer: true when a request is to be sent (again). */
typedef bool visit_fn(struct visit *v, void *context);

/*
 * Makes every visit, at most `at_once` at a time; each has its first request
 * set up.  A visit whose request got no answer at all is marked failed, and
 * the reason is put on stderr.
 */
int visit_all(struct visit *visits, size_t count, size_t at_once,
    visit_fn *answered, void *context, struct err *e) MUST_CHECK;

/* Marks it failed and says on stderr what was answered. */
void visit_fail(struct visit *v, const char *what);

#endif
