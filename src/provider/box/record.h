/*
 * record.h: the fence of a sandbox: notes its incarnations on this host, and
 * refuses starts and stops that mean an old one.
 *
 * Only rules, without I/O; box.h keeps the record on disk.
 */
#ifndef SANDLEASE_PROVIDER_BOX_RECORD_H
#define SANDLEASE_PROVIDER_BOX_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/id.h"
#include "provider/provider.h"

enum { RECORD_PAST_MAX = 8 };

enum record_state {
	RECORD_NONE,      /* nothing on record */
	RECORD_STARTING,  /* written before the fork; init has not answered */
	RECORD_LIVE,      /* its init has answered */
	RECORD_ENDED,     /* stopped; the incarnation never starts again */
	RECORD_DESTROYED, /* a tombstone: the files go to the trash, too */
	RECORD__MAX
};

struct record {
	enum record_state state;
	char incarnation[ID_MAX];
	int64_t epoch; /* the highest one that was started */
	char past[RECORD_PAST_MAX][ID_MAX]; /* newest first, "" at the end */
};

/*
 * 0 when the sandbox may be started or adopted as `s`.  `runs`: processes of
 * the sandbox were just seen.
 */
int record_check_ensure(const struct record *r, const struct sandbox_spec *s,
    bool runs, struct err *e) MUST_CHECK;

/* 0 when this incarnation may be stopped or, with `destroy`, destroyed. */
int record_check_end(const struct record *r, const char *incarnation, bool runs,
    bool destroy, struct err *e) MUST_CHECK;

/* Change the record before a start, and before an end. */
void record_start(struct record *r, const struct sandbox_spec *s);
void record_end(struct record *r, const char *incarnation, bool destroy);

/* The record as text, which the caller frees, and back. */
char *record_text(const struct record *r);
int record_parse(const char *text, size_t len, struct record *out,
    struct err *e) MUST_CHECK;

#endif
