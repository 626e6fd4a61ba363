/*
 * record.h: which incarnation of a sandbox this host knows, and what it
 * refuses because of it.
 *
 * The fence: whoever carries out an effect refuses a stale one.
 * Pure rules; box.h keeps the record on disk.
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
	RECORD_STARTING,  /* written before the fork; nobody noted an answer */
	RECORD_LIVE,      /* its init has answered */
	RECORD_ENDED,     /* stopped; it will not start again */
	RECORD_DESTROYED, /* a tombstone */
	RECORD__MAX
};

struct record {
	enum record_state state;
	char incarnation[ID_MAX];
	int64_t epoch;
	char past[RECORD_PAST_MAX][ID_MAX]; /* newest first, "" at the end */
};

/* 0 when this ensure may go on, with `runs` what was just observed. */
int record_check_ensure(const struct record *r, const struct sandbox_spec *s,
    bool runs, struct err *e) MUST_CHECK;

/* 0 when a stop (or destroy) that means this incarnation may go on. */
int record_check_end(const struct record *r, const char *incarnation, bool runs,
    bool destroy, struct err *e) MUST_CHECK;

/* What is recorded before a start, and after an end. */
void record_start(struct record *r, const struct sandbox_spec *s);
void record_end(struct record *r, const char *incarnation, bool destroy);

/* As text for a file, the caller's; and back. */
char *record_text(const struct record *r);
int record_parse(const char *text, size_t len, struct record *out,
    struct err *e) MUST_CHECK;

#endif
