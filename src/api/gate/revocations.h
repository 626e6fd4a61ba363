/*
 * revocations.h: tells the workers of the pool `auth` which rights have ended.
 *
 * A page of memory that one process writes (serve/listener.c) and the workers
 * only read.  It has counters: of each right that ends, named by the id of its
 * session or by its key, one counter moves.  Ids share counters, so one that
 * moves may end a right that still holds; its worker asks the database again.
 *
 * The page also has the time at which the writer last began to ask the database
 * whether it would still be told.  An answer proves that everything that was
 * committed before that time has been counted.  If the time is older than
 * REVOCATIONS_FRESH_US the counters prove nothing.
 */
#ifndef SANDLEASE_API_GATE_REVOCATIONS_H
#define SANDLEASE_API_GATE_REVOCATIONS_H

#include <stdbool.h>
#include <stdint.h>

enum {
	REVOCATIONS_FRESH_US = 40 * 1000,
	REVOCATIONS_ASK_US = 20 * 1000, /* how often the writer asks */
	/* a key is named by this many digits of its hash */
	REVOCATIONS_KEY_LEN = 16
};

struct revocations;

/* The counters of a right, as they were at one moment. */
struct revocations_stamp {
	uint64_t all, count[2];
	uint16_t slot[2];
};

/* The master calls this before it forks; the page is never unmapped. */
struct revocations *revocations_new(void);

/* ---- for the writer */

/* Every right may have ended, because nobody has listened until now. */
void revocations_end_all(struct revocations *r);

/* A right of this name has ended; "": all have. */
void revocations_end(struct revocations *r, const char *name);

/*
 * Whatever was committed before asked_us, by clock_us(), is counted.  0: the
 * counters prove nothing any more.
 */
void revocations_prove(struct revocations *r, int64_t asked_us);

/* ---- for the readers */

/* From here on this process cannot write to the page. */
void revocations_protect(struct revocations *r);

/* Whether the counters tell of all that ended until REVOCATIONS_FRESH_US ago. */
bool revocations_are_fresh(const struct revocations *r, int64_t now_us);

/*
 * The counters of a right by a session's id and a key's hash (NULL: by no key).
 * A worker reads them before it asks the database.
 */
void revocations_read(const struct revocations *r, const char *session,
    const char *key_hash, struct revocations_stamp *out);

/* Whether none of these counters has moved since. */
bool revocations_unmoved(const struct revocations *r,
    const struct revocations_stamp *s);

#endif
