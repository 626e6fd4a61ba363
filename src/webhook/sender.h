/*
 * sender.h: sends the deliveries of webhooks that are due.
 *
 * A delivery is claimed for a time (intent), sent (act), and settled (outcome).
 * A sender that dies in between leaves a claim that ends by itself, so each
 * delivery arrives at least once, always with the same id.  One org has a
 * share of what is under way: its servers hold up no other org's deliveries.
 */
#ifndef SANDLEASE_WEBHOOK_SENDER_H
#define SANDLEASE_WEBHOOK_SENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/err.h"
#include "store/store.h"

enum { SENDER_TIMEOUT_MS = 10 * 1000 };

struct sender;

int sender_open(const struct conf *conf, struct store *st, struct sender **out,
    struct err *e) MUST_CHECK;

/*
 * Releases the claims of what is still under way, so that it is sent again
 * soon.
 */
void sender_close(struct sender *s);

/*
 * Begins with deliveries that have been due for late_seconds, as many as there
 * is room for.  Each ends within timeout_ms.
 */
int sender_claim(struct sender *s, int64_t late_seconds, int64_t timeout_ms,
    struct err *e) MUST_CHECK;

/*
 * Goes on with what is under way and records what has ended.  Returns after
 * `ms` milliseconds, or when something has ended or `fd` (-1: none) can be
 * read.
 */
int sender_wait(struct sender *s, int fd, int64_t ms, struct err *e) MUST_CHECK;

/* True while something is under way. */
bool sender_is_busy(const struct sender *s);

#endif
