/*
 * rootfs_control.h: root file systems for classes, as the operator wants them.
 *
 * provider/store/rootfs.h makes and removes them on this host; which classes name one
 * is in the database.
 */
#ifndef SANDLEASE_CONTROL_ROOTFS_CONTROL_H
#define SANDLEASE_CONTROL_ROOTFS_CONTROL_H

#include "common/conf.h"
#include "common/json.h"
#include "store/store.h"

/* A root file system to make; see rootfs_control_make(). */
struct rootfs_options {
	const char *name;
	const char *suite;    /* of Debian, "bookworm" */
	const char *packages; /* comma separated, beside the essential ones */
	const char *mirror;   /* NULL: this machine's own */
};

/*
 * Makes one, which says on stderr what it does, and returns the path of its
 * root, the caller's.  Fails if there is one of that name.
 */
int rootfs_control_make(const struct conf *conf, const struct rootfs_options *w,
    char **root, struct err *e) MUST_CHECK;

/* Whether sessions of this host may each have a copy of `root` to change. */
int rootfs_control_check_writable(const struct conf *conf, const char *root,
    struct err *e) MUST_CHECK;

/*
 * All of this host: an array of {name, root, suite, packages, mirror, made,
 * classes}; the last are the names of the classes that name it.
 */
int rootfs_control_list(const struct conf *conf, struct store *st, json_t **out,
    struct err *e) MUST_CHECK;

/* Removes one that no class names and no sandbox runs from; else ERR_CONFLICT. */
int rootfs_control_remove(const struct conf *conf, struct store *st,
    const char *name, struct err *e) MUST_CHECK;

#endif
