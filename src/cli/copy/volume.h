/*
 * volume.h: copies a local directory into a session, and the changes back.
 *
 * `sandlease run` copies the directory to the session before the command, and
 * copies the changes of the command back after it.  A local file that has
 * changed meanwhile is neither overwritten nor removed: both versions are kept,
 * and the conflict is printed.
 */
#ifndef SANDLEASE_CLI_COPY_VOLUME_H
#define SANDLEASE_CLI_COPY_VOLUME_H

#include "cli/copy/copy.h"

struct volume {
	char *here, *there;
	bool read_only;
	json_t *ours;   /* a listing (tree.h) of `here` before the command */
	json_t *before; /* a listing of `there` before the command */
};

/* Parses "DIR", "DIR:PATH" or "DIR:PATH:ro"; the default PATH is /workspace. */
int volume_parse(const char *spec, struct volume *v, struct err *e) MUST_CHECK;
void volume_free(struct volume *v);

/* True if one lies in the other in the session, and would come back with it. */
bool volume_overlaps(const struct volume *v, const struct volume *other);

/* Copies the directory to the session. */
int volume_send(struct copy *k, struct volume *v, struct err *e) MUST_CHECK;

/*
 * Copies changes back; adds the number of conflicts that it has printed to
 * *conflicts.  After a failure, some changes may be in the session only.
 */
int volume_fetch(struct copy *k, const struct volume *v, int *conflicts,
    struct err *e) MUST_CHECK;

#endif
