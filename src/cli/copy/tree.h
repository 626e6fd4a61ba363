/*
 * tree.h: lists a directory on this machine ("here") or in a session ("there").
 *
 * A listing is a JSON object.  It maps each path below the directory to a text
 * that changes when the entry changes.  The text begins with 'f' for a file,
 * 'l' for a symbolic link and 'd' for a directory.  Files and directories have
 * their permissions in it, files and links their size and modification time.
 * Sockets, fifos and devices are left out, because no copy has them.
 *
 * Here, paths are bytes.  In the listing of a session, which comes as JSON,
 * bytes that are not UTF-8 are replaced, so two paths may have the same name.
 */
#ifndef SANDLEASE_CLI_COPY_TREE_H
#define SANDLEASE_CLI_COPY_TREE_H

#include "cli/copy/copy.h"

/* Lists all entries below `dir`; does not follow symbolic links. */
int tree_here(const char *dir, json_t *out, struct err *e) MUST_CHECK;

/* The text of entry `name` in the directory `parent`; NULL: no such entry. */
char *tree_entry(int parent, const char *name);

/* Lists all entries below `dir` in the session; clears the bits of our umask
 * from permissions. */
int tree_there(struct copy *k, const char *dir, json_t *out, struct err *e)
    MUST_CHECK;

/*
 * `path` and `text` are an entry here that was unpacked from the session.  True
 * if it equals the entry in the session's listing `there`; false also if the
 * listing cannot tell.
 */
bool tree_is_as_there(const char *path, const char *text, const json_t *there);

/* True if two listings of a session prove that nothing has changed. */
bool tree_is_same(const json_t *before, const json_t *after);

/*
 * Opens the directory of `path`, below `root`, without following symbolic
 * links; *base is the last part of the path.  -1: there is no such directory.
 */
int tree_parent(int root, const char *path, const char **base);

#endif
