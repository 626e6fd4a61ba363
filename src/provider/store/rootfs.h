/*
 * rootfs.h: makes, lists and removes root file systems that classes can use.
 *
 * Each is a directory state_dir/rootfs/NAME with `root`, the path that a class
 * has, `recipe`, the packages it was made from, and `lock`, which every sandbox
 * that uses it holds.  A root file system appears by an atomic rename and never
 * changes: another recipe needs another name.
 */
#ifndef SANDLEASE_PROVIDER_STORE_ROOTFS_H
#define SANDLEASE_PROVIDER_STORE_ROOTFS_H

#include "common/conf.h"
#include "common/json.h"

struct rootfs_recipe {
	const char *name;
	const char *suite;    /* of Debian, for example "bookworm" */
	const char *packages; /* comma separated, beside the essential ones */
	const char *mirror;   /* NULL: mmdebstrap's default */
};

/*
 * Makes a root file system by mmdebstrap, which writes its progress to stderr.
 * *root is its path, which the caller frees.  Fails if the name is in use.
 */
int rootfs_make(const struct conf *conf, const struct rootfs_recipe *r,
    char **root, struct err *e) MUST_CHECK;

/* Lists them: an array of {name, root, suite, packages, mirror, made}. */
int rootfs_list(const struct conf *conf, json_t **out, struct err *e)
    MUST_CHECK;

/*
 * Finds the path that a class needs, which the caller frees.  Fails if there is
 * no root file system of that name.
 */
int rootfs_find(const struct conf *conf, const char *name, char **root,
    struct err *e) MUST_CHECK;

/*
 * Checks that sessions may change copies of `root`.  It must belong to the
 * service's user: a sandbox's user namespace knows no other.  It must be on the
 * file system of the storage: otherwise the overlay gives each file the device
 * of its layer, and open files without a name cannot be told from others.
 */
int rootfs_check_writable(const char *root, const char *storage, struct err *e)
    MUST_CHECK;

/* Removes a root file system; ERR_CONFLICT while a sandbox uses it. */
int rootfs_remove(const struct conf *conf, const char *name, struct err *e)
    MUST_CHECK;

/*
 * Keeps `root` from being removed for as long as a process has *lock open.
 * *lock is -1 for a directory that rootfs_make() has not made: rootfs_remove()
 * cannot remove it.
 */
int rootfs_hold(const char *root, int *lock, struct err *e) MUST_CHECK;

#endif
