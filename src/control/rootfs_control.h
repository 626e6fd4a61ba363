/*
 * rootfs_control.h: makes, lists and removes root file systems for classes.
 *
 * provider/store/rootfs.h does the work on this host.  The database knows which
 * classes name which root file system.
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
 * Makes a root file system, with messages about the progress on stderr.  *root
 * is the path of its root; the caller frees it.  Fails if the name exists.
 */
int rootfs_control_make(const struct conf *conf, const struct rootfs_options *w,
    char **root, struct err *e) MUST_CHECK;

/* Whether sessions of this host may each have a writable copy of `root`. */
int rootfs_control_check_writable(const struct conf *conf, const char *root,
    struct err *e) MUST_CHECK;

/*
 * Lists those of this host: an array of {name, root, suite, packages, mirror,
 * made, classes}; `classes` are the names of the classes that name it.
 */
int rootfs_control_list(const struct conf *conf, struct store *st, json_t **out,
    struct err *e) MUST_CHECK;

/*
 * Removes a root file system; ERR_CONFLICT if a class names it or a sandbox
 * runs from it.
 */
int rootfs_control_remove(const struct conf *conf, struct store *st,
    const char *name, struct err *e) MUST_CHECK;

#endif
