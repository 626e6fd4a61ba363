/*
 * volume.h: a directory of ours that a session works on.
 *
 * It is copied in before the command, and what the command has changed is
 * copied back after it.  Nothing of ours that has changed meanwhile is
 * overwritten or removed: both versions are kept, and the conflict is named.
 */
#ifndef SANDLEASE_CLI_COPY_VOLUME_H
#define SANDLEASE_CLI_COPY_VOLUME_H

#include "cli/copy/copy.h"

struct volume {
	char *here, *there;
	bool read_only;
	json_t *ours;   /* a listing (tree.h) of here, before */
	json_t *before; /* of there, before the command */
};

/* "DIR", "DIR:PATH" or "DIR:PATH:ro"; PATH is /workspace without it. */
int volume_parse(const char *spec, struct volume *v, struct err *e) MUST_CHECK;
void volume_free(struct volume *v);

/* Whether one would lie in the other there, and come back with it. */
bool volume_overlaps(const struct volume *v, const struct volume *other);

/* Copies it in. */
int volume_send(struct copy *k, struct volume *v, struct err *e) MUST_CHECK;

/*
 * Copies back what has changed; *conflicts is how many were named.  After a
 * failure something may be in the session only.
 */
int volume_fetch(struct copy *k, const struct volume *v, int *conflicts,
    struct err *e) MUST_CHECK;

#endif
