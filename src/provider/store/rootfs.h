/*
 * rootfs.h: root file systems of this host that classes can name.
 *
 * Each is a directory state_dir/rootfs/NAME with `root`, which a class names,
 * `recipe`, what it was made of, and `lock`, which every sandbox that runs from
 * it holds.  One appears whole or not at all, and is never changed afterwards:
 * another recipe has another name.
 */
#ifndef SANDLEASE_PROVIDER_STORE_ROOTFS_H
#define SANDLEASE_PROVIDER_STORE_ROOTFS_H

#include "common/conf.h"
#include "common/json.h"

struct rootfs_recipe {
	const char *name;
	const char *suite;    /* of Debian, "bookworm" */
	const char *packages; /* comma separated, beside the essential ones */
	const char *mirror;   /* NULL: mmdebstrap's choice */
};

/*
 * Makes one by mmdebstrap, which says on stderr what it does, and returns the
 * path of its root, the caller's.  Fails if there is one of that name.
 */
int rootfs_make(const struct conf *conf, const struct rootfs_recipe *r,
    char **root, struct err *e) MUST_CHECK;

/* All of them: an array of {name, root, suite, packages, mirror, made}. */
int rootfs_list(const struct conf *conf, json_t **out, struct err *e)
    MUST_CHECK;

/* The path that a class names it by, the caller's.  Fails if it is not there. */
int rootfs_find(const struct conf *conf, const char *name, char **root,
    struct err *e) MUST_CHECK;

/*
 * A root that sessions may change copies of must be the service's own: of other
 * users a sandbox's user namespace knows nothing.  And it must be on the file
 * system of their storage: else the overlay gives each file the device of its
 * layer, and open files without a name could not be told from others.
 */
int rootfs_check_writable(const char *root, const char *storage, struct err *e)
    MUST_CHECK;

/* Removes one that no sandbox runs from; else ERR_CONFLICT. */
int rootfs_remove(const struct conf *conf, const char *name, struct err *e)
    MUST_CHECK;

/*
 * Keeps `root` from being removed for as long as *lock is open anywhere.  A
 * directory that is not one of ours is nobody's to remove: then *lock is -1.
 */
int rootfs_hold(const char *root, int *lock, struct err *e) MUST_CHECK;

#endif
