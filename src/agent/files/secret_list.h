/*
 * secret_list.h: remembers which of the session's files are secret.
 *
 * An execution may bring secret files.  They are removed when it ends, and no
 * snapshot has them.  Their paths are on the disk before they are, so that the
 * next wrapper removes those of a wrapper that was killed.
 */
#ifndef SANDLEASE_AGENT_FILES_SECRET_LIST_H
#define SANDLEASE_AGENT_FILES_SECRET_LIST_H

#include "common/err.h"
#include "common/str.h"

#ifndef SECRET_LIST_DIR /* the unit test sets another */
#define SECRET_LIST_DIR "/home/user/.local/state/sandlease/secrets"
#endif

/* Writes the list `id`: absolute paths, each ended by NUL. */
int secret_list_write(const char *id, const struct buf *paths, struct err *e)
    MUST_CHECK;

/* Removes the list `id`, and its files unless another list has them, too. */
void secret_list_remove(const char *id);

/* The same for all lists: no execution runs. */
void secret_list_remove_all(void);

/*
 * Whether a list has this absolute path now.  A list is written before its
 * files: a reader that opens a file first and then asks reads no secret.
 */
bool secret_list_has(const char *path);

#endif
