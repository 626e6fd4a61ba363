/*
 * copy.h: files and directories between here and a session.
 *
 * A file is there whole or not at all, on both sides.  A directory travels as
 * a tar stream; the local `tar` makes and reads it.
 */
#ifndef SANDLEASE_CLI_COPY_COPY_H
#define SANDLEASE_CLI_COPY_COPY_H

#include "cli/copy/progress.h"
#include "cli/http/client.h"

struct copy {
	struct client *client;
	const char *id;
	int signals; /* interrupts_open(), or -1; any of them ends the copy */
	int stopped; /* by this signal; 0: by none */
	bool quiet;
	struct progress progress;
	int64_t bytes;
};

/* What is there, in the session. */
enum copy_kind { COPY_NOTHING, COPY_FILE, COPY_DIRECTORY };
int copy_look(struct copy *k, const char *path, enum copy_kind *out,
    struct err *e) MUST_CHECK;

/* `from` NULL is standard input, `to` NULL standard output. */
int copy_file_up(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;
int copy_file_down(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;
/* The contents of a directory; NULL: a tar stream. */
int copy_tree_up(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;
int copy_tree_down(struct copy *k, const char *from, const char *to,
    struct err *e) MUST_CHECK;

/* Removes a directory with all that is in it. */
void copy_remove_tree(const char *dir);

/* The path of a call, such as files/{path}; the caller frees it. */
char *copy_path(const struct copy *k, const char *route, const char *path,
    const char *query);

/*
 * One request of a copy until its end, or a signal; *mode (may be NULL) is
 * what the session says of the file, 0 for nothing.
 */
int copy_run(struct copy *k, struct request *r, unsigned *mode, struct err *e)
    MUST_CHECK;

#endif
