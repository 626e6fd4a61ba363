/*
 * finish.h: what remains of a deletion once the lease is none.
 *
 * Sandbox or files, then the row; several sessions at once, or one.
 */
#ifndef SANDLEASE_CONTROL_FINISH_H
#define SANDLEASE_CONTROL_FINISH_H

#include "control/control.h"

/* *done is false when something still stands in the way. */
int finish_delete(struct control *ctl, const char *session, bool *done,
    struct err *e) MUST_CHECK;

/* What came of a batch. */
struct finish_count {
	size_t found, done, failed;
};

/*
 * Finishes up to `limit` deletions of this host that nobody else is at, but
 * for those in `left`, an array of the caller's.  What failed is logged,
 * counted and added to it, for another pass to go on with.
 */
int finish_due(struct control *ctl, int64_t limit, json_t *left,
    struct finish_count *n, struct err *e) MUST_CHECK;

/*
 * Drops the files of a session that has failed: intent, then effect, so that
 * a resume finds it given up.  *done is false when it was resumed meanwhile.
 */
int finish_failed(struct control *ctl, const char *session, const char *sandbox,
    bool *done, struct err *e) MUST_CHECK;

#endif
