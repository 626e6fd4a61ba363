/* tree.h: removes a file, or a directory with all its contents. */
#ifndef SANDLEASE_AGENT_FILES_TREE_H
#define SANDLEASE_AGENT_FILES_TREE_H

#include <stdbool.h>

#include "common/err.h"

/*
 * Removes `path`: a symbolic link, not its target; a directory of any depth
 * with its contents.  A directory that cannot be removed itself, such as a
 * mount point, keeps its contents.
 */
int tree_remove(const char *path, struct err *e) MUST_CHECK;

/*
 * The same, but stops with "resource_busy" when go_on(), which is called every
 * few entries, returns false.
 */
typedef bool tree_go_on_fn(void *ctx);
int tree_remove_while(const char *path, tree_go_on_fn *go_on, void *ctx,
    struct err *e) MUST_CHECK;

#endif
