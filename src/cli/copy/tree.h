/*
 * tree.h: what is in a directory, here or in a session.
 *
 * A listing is an object: of each path below the directory, a text that
 * changes when the entry does.  It begins with 'f' for a file, 'l' for a
 * symbolic link and 'd' for a directory; of files and links it has the size and
 * the time of the last change, of files and directories the permissions.
 * Sockets, fifos and devices are left out, because no copy has them.
 *
 * Here paths are bytes.  In a listing of a session, which is JSON, bytes that
 * are not UTF-8 are replaced, so that two paths may have the same name.
 */
#ifndef SANDLEASE_CLI_COPY_TREE_H
#define SANDLEASE_CLI_COPY_TREE_H

#include "cli/copy/copy.h"

/* All entries below `dir`; symbolic links are not followed. */
int tree_here(const char *dir, json_t *out, struct err *e) MUST_CHECK;

/* The text of one entry, in a descriptor's directory; NULL: it is not there. */
char *tree_entry(int parent, const char *name);

/* All entries below `dir` in the session; permissions are less our umask. */
int tree_there(struct copy *k, const char *dir, json_t *out, struct err *e)
    MUST_CHECK;

/*
 * True if an entry here, unpacked from a session's archive, is as a listing of
 * that session has it; false where the listing cannot tell.
 */
bool tree_is_as_there(const char *path, const char *text, const json_t *there);

/* True if two listings of a session prove that nothing has changed. */
bool tree_is_same(const json_t *before, const json_t *after);

/*
 * The directory that `path`, below `root`, is in, reached without following a
 * symbolic link; *base is the last part of the path.  -1 if there is none.
 */
int tree_parent(int root, const char *path, const char **base);

#endif
