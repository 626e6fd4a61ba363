/*
 * copy.h: copies files and directories between this machine and a session.
 *
 * "up" is to the session, "down" is from it.  A file appears whole or not at
 * all, on both sides.  A directory is sent as a tar stream, which the local
 * `tar` writes and reads.
 */
#ifndef SANDLEASE_CLI_COPY_COPY_H
#define SANDLEASE_CLI_COPY_COPY_H

#include "cli/copy/progress.h"
#include "cli/http/client.h"

struct copy {
	struct client *client;
	const char *id; /* of the session */
	int signals;    /* interrupts_open(), or -1; a signal ends the copy */
	int stopped;    /* the signal that ended it; 0: none */
	bool quiet;
	struct progress progress;
	int64_t bytes;
};

/* Finds out what `path` is in the session. */
enum copy_kind { COPY_NOTHING, COPY_FILE, COPY_DIRECTORY };
int copy_look(struct copy *k, const char *path, enum copy_kind *out,
    struct err *e) MUST_CHECK;

/* Copies a file.  `from` NULL: standard input; `to` NULL: standard output. */
int copy_file_up(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;
int copy_file_down(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;
/* Copies the contents of a directory.  NULL: a tar stream on stdin or stdout. */
int copy_tree_up(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;
int copy_tree_down(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;

/* Removes a local directory with all that is in it. */
void copy_remove_tree(const char *dir);

/* The path of a call such as files/{path}; the caller frees it. */
char *copy_path(const struct copy *k, const char *route, const char *path,
    const char *query);

/*
 * Makes one request and waits for its end, or for a signal.  *mode (may be
 * NULL) gets the permissions from the answer; 0: the answer has none.
 */
int copy_run(struct copy *k, struct request *r, unsigned *mode, struct err *e)
    MUST_CHECK;

#endif
