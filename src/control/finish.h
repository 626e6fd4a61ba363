/*
 * finish.h: completes deletions once the lease is none.
 *
 * Removes the sandbox or the files, then marks the row as deleted; for several
 * sessions at once, or for one.
 */
#ifndef SANDLEASE_CONTROL_FINISH_H
#define SANDLEASE_CONTROL_FINISH_H

#include "control/control.h"

/*
 * Completes one deletion.  *done is false if something still stands in the way.
 */
int finish_delete(struct control *ctl, const char *session, bool *done,
    struct err *e) MUST_CHECK;

/* The result of a batch. */
struct finish_count {
	size_t found, done, failed;
};

/*
 * Completes up to `limit` deletions on this host, except those that another
 * process works on and those in `left`, an array of the caller's.  A deletion
 * that fails is logged, counted and added to `left`; a later pass tries it
 * again.
 */
int finish_due(struct control *ctl, int64_t limit, json_t *left,
    struct finish_count *n, struct err *e) MUST_CHECK;

/*
 * Drops the files of a session that has failed.  The intent comes first, so
 * that a resume sees that the files are given up.  *done is false if the
 * session was resumed meanwhile.
 */
int finish_failed(struct control *ctl, const char *session, const char *sandbox,
    bool *done, struct err *e) MUST_CHECK;

#endif
