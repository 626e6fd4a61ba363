/*
 * changes.h: what has changed and was not told yet.
 *
 * In the order in which it happened.  The same again is one; what is too much
 * is counted instead.  Pure.
 */
#ifndef SANDLEASE_AGENT_WATCH_CHANGES_H
#define SANDLEASE_AGENT_WATCH_CHANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { CHANGES_MAX = 1000, CHANGES_TEXT_MAX = 256 * 1024 };

enum change_type {
	CHANGE_CREATE,
	CHANGE_MODIFY,
	CHANGE_DELETE,
	CHANGE_MOVE_FROM,
	CHANGE_MOVE_TO,
	CHANGE_ATTRIB,
	CHANGE__MAX
};

/* As the wire has them. */
extern const char *const CHANGE_NAMES[CHANGE__MAX];

struct change {
	enum change_type type;
	bool directory;
	uint32_t hash; /* of the path */
	size_t path;   /* where it is in `text` */
};

struct changes {
	struct change *all;
	size_t count;
	struct buf text; /* the paths, each with its NUL */
	int64_t dropped; /* so many did not fit */
};

void changes_add(struct changes *c, enum change_type type, bool directory,
    const char *path);

const char *changes_path(const struct changes *c, size_t i);

void changes_free(struct changes *c);

#endif
