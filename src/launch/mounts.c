/* mounts.c: makes the file system of a sandbox. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "launch/launch.h"

enum { FILE_BYTES = 4096, TEXT_BYTES = 32 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

int
mounts_work(void)
{
	/* wrong arguments: a kernel that has the call refuses these */
	bool has_setattr =
	    mount_setattr(-1, "", 0, NULL, 0) == 0 || errno == EINVAL;

	return has_setattr &&
	    (open_tree(-1, "", 0) >= 0 || errno == ENOENT || errno == EBADF);
}

/* ---- places in the new root, which is the working directory */

/*
 * Opens the directory of `path`, made if it does not exist.  Follows no link:
 * until mounts_enter() an absolute one would lead into the host's root.  *leaf
 * is the last part of the path; "." for the root.
 */
static int
open_parent(const char *path, const char **leaf)
{
	int at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const char *end;

	for (path++; at >= 0 && (end = strchr(path, '/')) != NULL;
	     path = end + 1) {
		char name[NAME_MAX + 1];
		int next;

		if (end == path || end - path > NAME_MAX)
			die("not a path: %s", path);
		memcpy(name, path, (size_t)(end - path));
		name[end - path] = '\0';
		(void)mkdirat(at, name, 0755);
		next = openat(at, name,
		    O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		close(at);
		at = next;
		if (at < 0)
			die_errno("cannot make directory %s", name);
	}
	if (at < 0)
		die_errno("cannot open the new root");
	*leaf = *path != '\0' ? path : ".";
	return at;
}

static int
open_point(const char *path)
{
	const char *leaf;
	int dir = open_parent(path, &leaf);
	int fd = openat(dir, leaf, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (fd < 0)
		die_errno("cannot open %s", path);
	close(dir);
	return fd;
}

/* Makes a directory or an empty file on which something is mounted. */
static int
make_point(const char *path, bool is_dir, mode_t mode)
{
	const char *leaf;
	int dir = open_parent(path, &leaf);

	if ((is_dir ? mkdirat(dir, leaf, mode)
		    : mknodat(dir, leaf, S_IFREG | mode, 0)) < 0 &&
	    errno != EEXIST)
		die_errno("cannot make %s", path);
	close(dir);
	return open_point(path);
}

/* Closes both descriptors. */
static void
attach(int mount, int point, const char *path)
{
	if (move_mount(mount, "", point, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		die_errno("cannot mount on %s", path);
	close(mount);
	close(point);
}

/* ---- plain files */

void
run_dir(const struct op *o)
{
	close(make_point(o->a, true, o->mode));
}

static void
make_symlink(const char *target, const char *path)
{
	const char *leaf;
	int dir = open_parent(path, &leaf);

	if (symlinkat(target, dir, leaf) < 0)
		die_errno("cannot make link %s", path);
	close(dir);
}

void
run_symlink(const struct op *o)
{
	make_symlink(o->a, o->b);
}

void
run_file(const struct op *o)
{
	const char *leaf;
	int dir = open_parent(o->b, &leaf);
	int to =
	    openat(dir, leaf, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, o->mode);
	char bytes[FILE_BYTES];
	ssize_t n;

	if (to < 0)
		die_errno("cannot make file %s", o->b);
	while ((n = read(o->fd, bytes, sizeof(bytes))) > 0)
		if (write(to, bytes, (size_t)n) != n)
			die_errno("cannot write %s", o->b);
	if (n < 0)
		die_errno("cannot read the text of %s", o->b);
	close(to);
	close(dir);
	close(o->fd); /* the program shall not have it */
}

/* ---- mounts of what the host has */

/*
 * A copy of the mounts at and below `path`, not attached yet; -1: `may_miss`,
 * and it is not there.  All below, because without them the copy would show
 * what they cover.  A mount that the host makes there later does not appear:
 * it would not have these attributes.
 */
static int
copy_tree(const char *path, uint64_t attributes, bool may_miss)
{
	struct mount_attr a = { .attr_set = attributes,
		.propagation = MS_PRIVATE };
	int fd = open_tree(AT_FDCWD, path,
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

	if (fd < 0 && errno == ENOENT && may_miss)
		return -1;
	if (fd < 0)
		die_errno("cannot bind %s", path);
	if (mount_setattr(fd, "", AT_EMPTY_PATH | AT_RECURSIVE, &a, sizeof(a)) <
	    0)
		die_errno("cannot change the mount of %s", path);
	return fd;
}

static void
bind_path(const char *from, const char *to, uint64_t attributes, bool may_miss)
{
	int tree = copy_tree(from, attributes, may_miss);
	struct stat st;

	if (tree < 0)
		return;
	if (fstat(tree, &st) < 0)
		die_errno("cannot see %s", from);
	attach(tree,
	    make_point(to, S_ISDIR(st.st_mode),
		S_ISDIR(st.st_mode) ? 0755 : 0444),
	    to);
}

void
run_bind(const struct op *o)
{
	bind_path(o->a, o->b, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false);
}

void
run_ro_bind(const struct op *o)
{
	bind_path(o->a, o->b,
	    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, false);
}

void
run_ro_bind_try(const struct op *o)
{
	bind_path(o->a, o->b,
	    MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV, true);
}

/* ---- new file systems */

/* A parameter of a file system; without a value it is a flag. */
struct parameter {
	const char *name, *value;
};

/* The arguments of fsconfig(2), of which glibc has no declaration before 2.36. */
static int
make_mount(const char *type, unsigned attributes,
    const struct parameter *parameters, size_t count)
{
	int fs = fsopen(type, FSOPEN_CLOEXEC);
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "source", type, 0) < 0)
		die_errno("cannot make a file system %s", type);
	for (size_t i = 0; i < count; i++)
		if (fsconfig(fs,
			parameters[i].value != NULL ? FSCONFIG_SET_STRING
						    : FSCONFIG_SET_FLAG,
			parameters[i].name, parameters[i].value, 0) < 0)
			die_errno("%s: cannot set %s", type,
			    parameters[i].name);
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0 ||
	    (fd = fsmount(fs, FSMOUNT_CLOEXEC, attributes)) < 0)
		die_errno("cannot make a file system %s", type);
	close(fs);
	return fd;
}

static int
make_tmpfs(unsigned mode, int64_t size)
{
	char mode_text[TEXT_BYTES], size_text[TEXT_BYTES];
	const struct parameter parameters[] = { { "mode", mode_text },
		{ "size", size_text } };

	snprintf(mode_text, sizeof(mode_text), "%o", mode);
	snprintf(size_text, sizeof(size_text), "%lld", (long long)size);
	return make_mount("tmpfs", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV,
	    parameters, size > 0 ? 2 : 1);
}

void
run_tmpfs(const struct op *o)
{
	attach(make_tmpfs(o->mode, o->size), make_point(o->a, true, 0755),
	    o->a);
}

/*
 * Covers the files of /proc by which a program could act on the machine, if
 * this user may write them; it should not.
 */
static void
cover_proc(const char *proc)
{
	static const char *const RISKS[] = { "sys", "sysrq-trigger", "irq",
		"bus" };

	for (size_t i = 0; i < COUNT(RISKS); i++) {
		char path[PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s", proc, RISKS[i]);
		if (faccessat(AT_FDCWD, path + 1, W_OK, 0) == 0)
			attach(copy_tree(path + 1,
				   MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
				       MOUNT_ATTR_NODEV,
				   false),
			    open_point(path), path);
		else if (errno != EACCES && errno != ENOENT && errno != EROFS)
			die_errno("cannot look at %s", path);
	}
}

void
run_proc(const struct op *o)
{
	attach(make_mount("proc",
		   MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC,
		   NULL, 0),
	    make_point(o->a, true, 0755), o->a);
	cover_proc(o->a);
}

void
run_dev(const struct op *o)
{
	static const char *const NODES[] = { "null", "zero", "full", "random",
		"urandom", "tty" };
	static const struct {
		const char *name, *target;
	} LINKS[] = { { "stdin", "/proc/self/fd/0" },
		{ "stdout", "/proc/self/fd/1" },
		{ "stderr", "/proc/self/fd/2" }, { "fd", "/proc/self/fd" },
		{ "core", "/proc/kcore" }, { "ptmx", "pts/ptmx" } };
	static const struct parameter TERMINALS[] = { { "newinstance", NULL },
		{ "ptmxmode", "0666" }, { "mode", "620" } };
	char path[PATH_MAX], node[PATH_MAX];

	attach(make_tmpfs(0755, 0), make_point(o->a, true, 0755), o->a);
	for (size_t i = 0; i < COUNT(NODES); i++) {
		snprintf(path, sizeof(path), "%s/%s", o->a, NODES[i]);
		snprintf(node, sizeof(node), "/dev/%s", NODES[i]);
		attach(copy_tree(node, MOUNT_ATTR_NOSUID, false),
		    make_point(path, false, 0444), path);
	}
	for (size_t i = 0; i < COUNT(LINKS); i++) {
		snprintf(path, sizeof(path), "%s/%s", o->a, LINKS[i].name);
		make_symlink(LINKS[i].target, path);
	}
	snprintf(path, sizeof(path), "%s/shm", o->a);
	close(make_point(path, true, 0755));
	snprintf(path, sizeof(path), "%s/pts", o->a);
	attach(make_mount("devpts", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC,
		   TERMINALS, COUNT(TERMINALS)),
	    make_point(path, true, 0755), path);
}

void
run_remount_ro(const struct op *o)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY };
	int point = open_point(o->a);

	if (mount_setattr(point, "", AT_EMPTY_PATH, &a, sizeof(a)) < 0)
		die_errno("cannot make %s read-only", o->a);
	close(point);
}

/* ---- the root */

void
mounts_begin(void)
{
	int root = make_tmpfs(0755, 0);

	/*
	 * On top of the host's root, which hides none of its paths: a path that
	 * begins with / begins at the root of this process, below the new one.
	 */
	if (move_mount(root, "", AT_FDCWD, "/", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		die_errno("cannot mount the new root");
	if (fchdir(root) < 0)
		die_errno("cannot enter the new root");
	close(root);
}

/* After pivot_root() both roots are mounted on "/", and "." is the old one. */
void
mounts_enter(void)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		die_errno("cannot change the root");
	if (umount2(".", MNT_DETACH) < 0)
		die_errno("cannot leave the host's root");
	if (chdir("/") < 0)
		die_errno("cannot enter the new root");
}
