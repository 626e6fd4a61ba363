/* dir.c: keeps the directories of all watches, in trees and by wd. */
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>

#include "agent/watch/internal.h"
#include "common/mem.h"

enum { BUCKETS = 1024 };

struct watches watches = { .inotify = -1 };

static struct watch_dir *buckets[BUCKETS]; /* of all watches, by wd */

static struct watch_dir **
bucket_of(int wd)
{
	return &buckets[(unsigned)wd % BUCKETS];
}

struct watch_dir *
watch_dir_find(const struct watch *w, int wd)
{
	struct watch_dir *d = *bucket_of(wd);

	while (d != NULL && (d->wd != wd || d->watch != w))
		d = d->same_bucket;
	return d;
}

void
watch_dir_release(int wd)
{
	const struct watch_dir *d = *bucket_of(wd);

	while (d != NULL && d->wd != wd)
		d = d->same_bucket;
	if (d == NULL)
		inotify_rm_watch(watches.inotify, wd);
}

static void
free_dir(struct watch_dir *d)
{
	struct watch_dir **at = bucket_of(d->wd);

	while (*at != d)
		at = &(*at)->same_bucket;
	*at = d->same_bucket;
	watch_dir_release(d->wd);
	if (d->prev != NULL) { /* else d is the topmost */
		*d->prev = d->next;
		if (d->next != NULL)
			d->next->prev = d->prev;
	}
	free(d);
	watches.dirs--;
}

/* Frees from the leaves up, without recursion: the tenant chooses the depth. */
void
watch_dir_drop(struct watch_dir *top)
{
	for (struct watch_dir *d = top, *parent;; d = parent) {
		while (d->children != NULL)
			d = d->children;
		parent = d->parent;
		if (d == top) {
			free_dir(d);
			return;
		}
		free_dir(d);
	}
}

struct watch_dir *
watch_dir_add(struct watch *w, struct watch_dir *parent, const char *name,
    int wd)
{
	size_t len = strlen(name);
	struct watch_dir *d = xcalloc(1, sizeof(*d) + len + 1);

	d->wd = wd;
	d->watch = w;
	memcpy(d->name, name, len);
	d->same_bucket = *bucket_of(wd);
	*bucket_of(wd) = d;
	if (parent != NULL) {
		d->parent = parent;
		d->next = parent->children;
		d->prev = &parent->children;
		if (d->next != NULL)
			d->next->prev = &d->next;
		parent->children = d;
	}
	watches.dirs++;
	return d;
}

/* A new struct, because the name is part of the struct. */
void
watch_dir_move(struct watch_dir *d, struct watch_dir *parent, const char *name)
{
	struct watch_dir *moved = watch_dir_add(d->watch, parent, name, d->wd);

	moved->partial = d->partial;
	moved->children = TAKE(d->children);
	if (moved->children != NULL)
		moved->children->prev = &moved->children;
	for (struct watch_dir *c = moved->children; c != NULL; c = c->next)
		c->parent = moved;
	free_dir(d);
}

static char *
prepend(const char *name, char *at, const char *buf)
{
	size_t len = strlen(name);

	if (at == NULL || (size_t)(at - buf) < len + 1)
		return NULL;
	if (*at != '\0')
		*--at = '/';
	return memcpy(at - len, name, len);
}

const char *
watch_path(const struct watch_dir *d, const struct watch_dir *above,
    const char *name, char buf[WATCH_PATH_MAX])
{
	char *at = buf + WATCH_PATH_MAX - 1;

	*at = '\0';
	if (name != NULL)
		at = prepend(name, at, buf);
	for (; d != above && d != NULL; d = d->parent)
		at = prepend(d->name, at, buf);
	return at;
}

void
watch_tree_drop(struct watch *w)
{
	if (w->top != NULL)
		watch_dir_drop(w->top);
	w->top = w->root = NULL;
}
