/*
 * visit.h: sends many requests to the service at once, with little CPU time.
 *
 * A visit is a chain of requests over one connection: the callback that gets an
 * answer sets up the visit's next request, or says that this was the last.  The
 * bench and the service it measures share two cores, so everything that can be
 * prepared is prepared before the clock runs.
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

/* The address and the key of the service: SANDLEASE_URL, SANDLEASE_API_KEY. */
struct place {
	const char *url;
	struct curl_slist *headers;
};

int place_open(struct place *p, struct err *e) MUST_CHECK;
void place_close(struct place *p);

void visit_open(struct visit *v, const struct place *p);
void visit_close(struct visit *v);

/* Sets up the next request: path below the URL; JSON body (static) or NULL. */
void visit_ask(struct visit *v, const struct place *p, const char *method,
    const char *path, const char *body);

/* Called with each answer; returns true to send another request. */
typedef bool visit_fn(struct visit *v, void *context);

/*
 * Makes every visit, at most `at_once` at a time; the caller has set up the
 * first request of each.  A visit whose request got no answer is marked failed,
 * and the reason is printed on stderr.
 */
int visit_all(struct visit *visits, size_t count, size_t at_once,
    visit_fn *answered, void *context, struct err *e) MUST_CHECK;

/* Marks the visit failed and prints the answer on stderr. */
void visit_fail(struct visit *v, const char *what);

#endif
