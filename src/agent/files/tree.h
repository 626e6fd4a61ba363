/*
 * tree.h: removing a directory with all that is in it.
 */
#ifndef SANDLEASE_AGENT_FILES_TREE_H
#define SANDLEASE_AGENT_FILES_TREE_H

#include <stdbool.h>

#include "common/err.h"

/*
 * Removes what is at `path`: a link, not what it points to; a directory with
 * its contents, however deep.  Nothing is touched of what cannot go at the
 * end, such as a place where something is mounted.
 */
int tree_remove(const char *path, struct err *e) MUST_CHECK;

/*
 * The same, as long as go_on() says so, which is asked now and then; what is
 * left then is "resource_busy".
 */
typedef bool tree_go_on_fn(void *ctx);
int tree_remove_while(const char *path, tree_go_on_fn *go_on, void *ctx,
    struct err *e) MUST_CHECK;

#endif
