/*
 * tree.h: what is in a directory, here or in a session.
 *
 * A listing is an object: of each path below the directory, a text that
 * changes when the entry does.  It begins with 'f' for a file, 'l' for a
 * symbolic link, 'd' for a directory and 'o' for anything else; of files and
 * links it has the permissions, the size and the time of the last change, of
 * directories the permissions.  Texts of here and of a session do not compare.
 */
#ifndef SANDLEASE_CLI_TREE_H
#define SANDLEASE_CLI_TREE_H

#include "cli/copy.h"

/* All entries below `dir`; symbolic links are not followed. */
int tree_here(const char *dir, json_t *out, struct err *e) MUST_CHECK;

/* The text of one entry, in a descriptor's directory; NULL: it is not there. */
char *tree_entry(int parent, const char *name);

/* All entries below `dir` in the session. */
int tree_there(struct copy *k, const char *dir, json_t *out, struct err *e)
    MUST_CHECK;

/*
 * The directory that `path`, below `root`, is in, reached without following a
 * symbolic link; *base is the last part of the path.  -1 if there is none.
 */
int tree_parent(int root, const char *path, const char **base);

#endif
