/*
 * changes.h: collects changes of files until a client takes them.
 *
 * Keeps the order of changes.  A repeated change counts once; changes beyond
 * the limits are only counted.  Pure.
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

/* The words in events. */
extern const char *const CHANGE_NAMES[CHANGE__MAX];

struct change {
	enum change_type type;
	bool directory;
	uint32_t hash; /* of the path */
	size_t path;   /* its offset in `text` */
};

struct changes {
	struct change *all;
	size_t count;
	struct buf text; /* the paths, each with its NUL */
	int64_t dropped; /* the number of changes that did not fit */
};

void changes_add(struct changes *c, enum change_type type, bool directory,
    const char *path);

const char *changes_path(const struct changes *c, size_t i);

void changes_free(struct changes *c);

#endif
