/* changes.c: collects changes of files until a client takes them. */
#include "agent/watch/changes.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

enum { ROOM_MIN = 16 };

const char *const CHANGE_NAMES[CHANGE__MAX] = {
	[CHANGE_CREATE] = "create",
	[CHANGE_MODIFY] = "modify",
	[CHANGE_DELETE] = "delete",
	[CHANGE_MOVE_FROM] = "move_from",
	[CHANGE_MOVE_TO] = "move_to",
	[CHANGE_ATTRIB] = "attrib",
};

/* FNV-1a: only avoids most string comparisons. */
static uint32_t
hash_of(const char *s)
{
	uint32_t h = 2166136261u;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 16777619u;
	return h;
}

/* True for changes that neither make, remove nor rename the file. */
static bool
is_light(enum change_type type)
{
	return type == CHANGE_MODIFY || type == CHANGE_ATTRIB;
}

static bool
is_same(const struct change *old, const struct change *new)
{
	if (old->directory != new->directory)
		return false;
	/* a walk notes a file that was moved into a new directory as CREATE */
	return old->type == new->type ||
	    (old->type == CHANGE_CREATE && new->type == CHANGE_MOVE_TO);
}

/*
 * Whether the change is in the list already.  Looks back only at changes of the
 * same path, until the same change or one where the file came or went.
 */
static bool
is_repeated(const struct changes *c, const struct change *new, const char *path)
{
	for (size_t i = c->count; i-- > 0;) {
		const struct change *old = &c->all[i];

		if (old->hash != new->hash ||
		    !str_equal(changes_path(c, i), path))
			continue;
		if (is_same(old, new))
			return true;
		if (!is_light(old->type) || !is_light(new->type))
			return false;
	}
	return false;
}

void
changes_add(struct changes *c, enum change_type type, bool directory,
    const char *path)
{
	struct change new = { .type = type,
		.directory = directory,
		.hash = hash_of(path),
		.path = c->text.len };
	size_t size = strlen(path) + 1, n = c->count;

	if (is_repeated(c, &new, path))
		return;
	if (c->count >= CHANGES_MAX || c->text.len + size > CHANGES_TEXT_MAX) {
		c->dropped++;
		return;
	}
	buf_add(&c->text, path, size);
	/* room for one more; doubled when a power of two is full */
	if (n == 0 || (n >= ROOM_MIN && (n & (n - 1)) == 0))
		c->all = xrealloc(c->all,
		    (n == 0 ? ROOM_MIN : 2 * n) * sizeof(*c->all));
	c->all[c->count++] = new;
}

const char *
changes_path(const struct changes *c, size_t i)
{
	return c->text.data + c->all[i].path;
}

void
changes_free(struct changes *c)
{
	free(c->all);
	buf_free(&c->text);
	*c = (struct changes){ 0 };
}
