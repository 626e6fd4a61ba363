/*
 * process.h: the struct that the files about rows share.
 */
#ifndef SANDLEASE_EGRESS_PROCESS_H
#define SANDLEASE_EGRESS_PROCESS_H

#include <sys/queue.h>

#include "control/control.h"
#include "egress/base/loop.h"
#include "store/store.h"

/* A session that the serving process has. */
struct attached {
	TAILQ_ENTRY(attached) link;
	char session[ID_MAX];
	int64_t generation;
};

TAILQ_HEAD(attached_list, attached);

struct rows_process {
	const struct conf *conf;
	struct store *store;
	/*
	 * Only listens.  A statement would read notifications, too, so that
	 * nothing wakes us for them, and would connect anew without a word.
	 */
	struct store *listener;
	struct control ctl;
	struct loop loop;
	struct loop_watch listen_watch, database_watch, serve_watch;
	struct loop_timer again_timer;
	int listen_fd; /* owned: workers connect here */
	int serve_fd;  /* owned; -1: it does not run */
	pid_t serve_pid;
	struct attached_list attached;
	struct buf log; /* asks for reports of packet filters; in base64 */
	/* owned; messages of serve that the database did not take */
	json_t *later;
	struct loop_timer later_timer;
	/* owned; {session: true}: have changed, and follow their rows in turn */
	json_t *told;
	struct loop_timer told_timer;
	/* owned; counts that are not written, and those of the last attempt */
	json_t *counts, *writing;
	char writing_id[ID_MAX]; /* the database takes it once */
};

/* ---- attached.c */

struct attached *attached_find(struct rows_process *p, const char *session);
void attached_set(struct rows_process *p, const char *session,
    int64_t generation);
void attached_drop(struct rows_process *p, const char *session,
    int64_t generation);
void attached_forget(struct rows_process *p);

/* ---- later.c */

/* Keeps a message of serve, to be written later. */
void later_add(struct rows_process *p, json_t *msg);
/* Has a session, or all of them (""), follow its row in a moment. */
void later_follow(struct rows_process *p, const char *session);
/* Tries again after a moment. */
void later_set(struct rows_process *p);
bool later_has(const json_t *list, const char *session);

/* ---- body.c */

/* A file without a name that has the text; a message has no room for it. */
int body_fd(const json_t *body, struct err *e);

/* ---- follow.c */

/*
 * Makes the network of a session follow its row.  The serving process answers
 * `waiter` (-1: none) when that is done; it stays the caller's.
 */
int follow(struct rows_process *p, const char *session, int waiter,
    struct err *e) MUST_CHECK;
void follow_all(struct rows_process *p);
/* Tries it again, if that may help. */
void follow_failed(struct rows_process *p, const char *session,
    const struct err *e);
/* Tells a worker what became of its request. */
void follow_answer(int waiter, bool ok, const char *why);

/* ---- told.c */

void told_open(struct rows_process *p);
void told_close(struct rows_process *p);
/* Has a session follow its row when its turn comes, which is soon. */
void told_add(struct rows_process *p, const char *session);

/* ---- authority_row.c */

/* Sends the installation's certificate authority, which is made if need be. */
int authority_send(struct rows_process *p, struct err *e) MUST_CHECK;

/* ---- reports.c */

void reports_open(struct rows_process *p);
void reports_close(struct rows_process *p);
/* Writes what the serving process says, later if it cannot be written now. */
void reports_take(struct rows_process *p, json_t *msg);

/* ---- callers.c */

/* A worker connects. */
void callers_accept(struct rows_process *p);

#endif
