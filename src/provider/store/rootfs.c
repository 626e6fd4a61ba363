/* rootfs.c: makes, lists and removes root file systems for classes. */
#include "provider/store/rootfs.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/program.h"
#include "common/str.h"
#include "provider/host/file.h"

enum { RECIPE_MAX = 65536, NAME_MAX_BYTES = 63 };

/* The first character of temporary directories, and of no other name. */
#define HIDDEN '.'

#define LETTERS "abcdefghijklmnopqrstuvwxyz0123456789"

static char *
rootfs_path(const struct conf *conf, const char *name)
{
	return xasprintf("%s/rootfs/%s", conf->state_dir, name);
}

/* ---- checking a recipe */

static int
check_words(const struct rootfs_recipe *r, struct err *e)
{
	if (!str_made_of(r->name, LETTERS "-_.", 1, NAME_MAX_BYTES) ||
	    r->name[0] == HIDDEN)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "NAME must have 1 to %d characters of a-z, 0-9, '-', '_' and '.'",
		    NAME_MAX_BYTES);
	if (!str_made_of(r->suite, LETTERS "-", 1, 32) || r->suite[0] == '-')
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--suite must be a name such as bookworm");
	if (!str_made_of(r->packages, LETTERS "+-.,:", 0, 8192))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--packages must be names with a comma between");
	if (r->mirror != NULL && !str_starts(r->mirror, "http://") &&
	    !str_starts(r->mirror, "https://") &&
	    !str_starts(r->mirror, "file:///"))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--mirror must be an address: http://, https:// or file:///");
	return 0;
}

/* ---- programs */

/*
 * `conf`: runs the program as the service's user; NULL: as the caller.  It gets
 * a process group of its own, because a failing mmdebstrap sends SIGHUP to its
 * whole group; and no terminal to read from, which would stop such a group.
 */
static _Noreturn void
exec_program(char *const *argv, int in, int out, const struct conf *conf)
{
	struct err e;

	setpgid(0, 0);
	if (in < 0)
		in = open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (conf != NULL && program_drop_root(conf, &e) < 0) {
		fprintf(stderr, "%s: %s\n", argv[0], e.msg);
		_exit(126);
	}
	/* without its parent nothing would use the program's output */
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (dup2(in, STDIN_FILENO) < 0 ||
	    (out >= 0 && dup2(out, STDOUT_FILENO) < 0))
		_exit(127);
	execvp(argv[0], argv);
	fprintf(stderr, "%s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

/* Waits for a program's end; `pid` is what fork() returned. */
static int
wait_for(pid_t pid, const char *name, struct err *e)
{
	int status = -1;

	if (pid < 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_INTERNAL,
		    "%s cannot be started: this host allows no more processes",
		    name);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		return 0;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return err_set(e, ERR_UNAVAILABLE, CODE_INTERNAL,
		    "%s cannot be run: is it installed?", name);
	return err_set(e, ERR_UNAVAILABLE, CODE_INTERNAL, "%s failed: %s %d",
	    name, WIFEXITED(status) ? "exit code" : "signal",
	    WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* ---- removing */

/* Uses rm, which follows no symlink even if the tree changes meanwhile. */
static int
remove_tree(const char *path, struct err *e)
{
	auto_free char *target = xstrdup(path);
	char *argv[] = { (char[]){ "rm" }, (char[]){ "-rf" },
		(char[]){ "--one-file-system" }, (char[]){ "--" }, target,
		NULL };
	pid_t pid = fork();

	if (pid == 0)
		exec_program(argv, -1, -1, NULL);
	return wait_for(pid, argv[0], e);
}

/*
 * Locks a root file system; `how` is LOCK_EX or LOCK_SH.  *lock is -1, and the
 * result 0, if `dir` has no lock file.
 */
static int
lock_rootfs(const char *dir, int how, int *lock, struct err *e)
{
	auto_free char *path = xasprintf("%s/lock", dir);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*lock = -1;
	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR
		    ? 0
		    : err_errno(e, "%s", path);
	if (flock(fd, how | LOCK_NB) < 0)
		return err_set(e, ERR_CONFLICT, CODE_RESOURCE_BUSY,
		    how == LOCK_EX ? "a sandbox runs from it"
				   : "the class's root file system is being "
				     "removed");
	*lock = take_fd(&fd);
	return 0;
}

/*
 * Removes the temporary directories of commands that were killed while they
 * made or removed a root file system.
 */
static int
remove_leftovers(const struct conf *conf, struct err *e)
{
	auto_free char *all = rootfs_path(conf, "");
	auto_names char **names = NULL;

	if (file_names(AT_FDCWD, all, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		auto_free char *path = xasprintf("%s%s", all, *n);
		auto_fd int lock = -1;
		struct err busy;

		if ((*n)[0] == HIDDEN &&
		    lock_rootfs(path, LOCK_EX, &lock, &busy) == 0 &&
		    remove_tree(path, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- making */

/*
 * Runs two programs with a pipe from the first to the second.  mmdebstrap
 * writes an archive and tar unpacks it as the service's user, so that the
 * service owns all files, whatever owners mmdebstrap gave them.  Sessions may
 * change copies of such files only.
 */
static int
run_pipeline(const struct conf *conf, char *const *from, char *const *to,
    struct err *e)
{
	pid_t first, second;
	struct err other;
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	first = fork();
	if (first == 0)
		exec_program(from, -1, ends[1], NULL);
	second = fork();
	if (second == 0)
		exec_program(to, ends[0], -1, conf);
	close(ends[0]);
	close(ends[1]);
	rc = wait_for(first, from[0], e);
	if (wait_for(second, to[0], &other) == 0)
		return rc;
	/* either may have failed because the other did: both are told */
	if (rc < 0)
		return err_wrap(e, "%s", other.msg);
	*e = other;
	return -1;
}

static int
unpack_debian(const struct conf *conf, const struct rootfs_recipe *r,
    const char *root, struct err *e)
{
	auto_free char *include = xasprintf("--include=%s", r->packages);
	char *from[] = { (char[]){ "mmdebstrap" }, (char[]){ "--variant=apt" },
		(char[]){ "--format=tar" },
		(char[]){ "--dpkgopt=force-unsafe-io" }, include,
		xstrdup(r->suite), (char[]){ "-" },
		r->mirror != NULL ? xstrdup(r->mirror) : NULL, NULL };
	auto_free char *suite = from[5], *mirror = from[7];
	char *to[] = { (char[]){ "tar" }, (char[]){ "-x" },
		(char[]){ "--same-permissions" }, (char[]){ "--no-same-owner" },
		(char[]){ "--exclude=./dev/*" }, (char[]){ "-C" },
		xstrdup(root), NULL };
	auto_free char *target = to[6];

	return run_pipeline(conf, from, to, e);
}

/* Makes the paths below /var that cells need in a read-only root. */
static int
make_var_paths(const struct conf *conf, const char *root, struct err *e)
{
	auto_free char *tmp = xasprintf("%s/var/tmp", root);
	auto_free char *backups = xasprintf("%s/var/backups", root);

	if ((rmdir(tmp) < 0 && errno != ENOENT) || symlink("/tmp", tmp) < 0)
		return err_errno(e, "%s", tmp);
	if (mkdir(backups, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "%s", backups);
	return program_give_file(conf, tmp, e) < 0 ||
		program_give_file(conf, backups, e) < 0
	    ? -1
	    : 0;
}

static int
write_recipe(const char *dir, const struct rootfs_recipe *r, struct err *e)
{
	auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char now[CLOCK_ISO_MAX];
	auto_json json_t *v = NULL;
	auto_free char *text = NULL;

	clock_iso(now);
	v = json_pack("{s:s, s:s, s:s*, s:s}", "suite", r->suite, "packages",
	    r->packages, "mirror", r->mirror, "made", now);
	text = json_dumps(v, JSON_COMPACT);
	if (fd < 0)
		return err_errno(e, "%s", dir);
	return file_write(fd, "recipe", text, e);
}

static int
make_temp(const struct conf *conf, const char *temp,
    const struct rootfs_recipe *r, int *lock, struct err *e)
{
	auto_free char *path = xasprintf("%s/lock", temp);
	auto_free char *root = xasprintf("%s/root", temp);

	*lock = open(path, O_RDONLY | O_CREAT | O_CLOEXEC, 0644);
	if (*lock < 0 || flock(*lock, LOCK_EX) < 0)
		return err_errno(e, "%s", path);
	if (chmod(temp, 0755) < 0 || mkdir(root, 0755) < 0)
		return err_errno(e, "%s", root);
	if (program_give_file(conf, root, e) < 0 ||
	    unpack_debian(conf, r, root, e) < 0 ||
	    make_var_paths(conf, root, e) < 0)
		return -1;
	if (write_recipe(temp, r, e) < 0)
		return -1;
	/* before the rename: after a power cut a name must have its files */
	return syncfs(*lock) < 0 ? err_errno(e, "sync") : 0;
}

static int
refuse_second(const char *name, struct err *e)
{
	return err_set(e, ERR_CONFLICT, CODE_ALREADY_EXISTS,
	    "there is a root file system %s already; give the new one another name",
	    name);
}

int
rootfs_make(const struct conf *conf, const struct rootfs_recipe *r, char **root,
    struct err *e)
{
	auto_free char *all = xasprintf("%s/rootfs", conf->state_dir);
	auto_free char *path = rootfs_path(conf, r->name);
	auto_free char *temp = xasprintf("%s/.make-XXXXXX", all);
	auto_fd int lock = -1;
	struct err ignored;

	if (check_words(r, e) < 0)
		return -1;
	if (mkdir(all, 0755) < 0 && errno != EEXIST)
		return err_errno(e, "%s", all);
	if (access(path, F_OK) == 0)
		return refuse_second(r->name, e);
	if (remove_leftovers(conf, e) < 0)
		return -1;
	if (mkdtemp(temp) == NULL)
		return err_errno(e, "%s", temp);
	if (make_temp(conf, temp, r, &lock, e) < 0) {
		(void)!remove_tree(temp, &ignored);
		return -1;
	}
	if (renameat2(AT_FDCWD, temp, AT_FDCWD, path, RENAME_NOREPLACE) < 0) {
		(void)!remove_tree(temp, &ignored);
		return refuse_second(r->name, e);
	}
	*root = xasprintf("%s/root", path);
	return 0;
}

/* ---- looking and removing */

int
rootfs_find(const struct conf *conf, const char *name, char **root,
    struct err *e)
{
	auto_free char *path =
	    xasprintf("%s/rootfs/%s/root", conf->state_dir, name);

	if (name[0] == HIDDEN ||
	    !str_made_of(name, LETTERS "-_.", 1, NAME_MAX_BYTES) ||
	    access(path, F_OK) < 0)
		return err_set(e, ERR_NOT_FOUND, CODE_NO_ROOTFS,
		    "there is no root file system \"%.64s\"", name);
	*root = TAKE(path);
	return 0;
}

int
rootfs_check_writable(const char *root, const char *storage, struct err *e)
{
	struct stat st, other;

	if (stat(root, &st) < 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_NO_ROOTFS,
		    "the class's root file system %.150s is not there", root);
	if (st.st_uid != geteuid())
		return err_set(e, ERR_UNAVAILABLE, CODE_NO_ROOTFS,
		    "%.150s belongs to another user than the service's: make one with "
		    "`sandlease-admin rootfs make`, or chown it",
		    root);
	if (stat(storage, &other) == 0 && other.st_dev != st.st_dev)
		return err_set(e, ERR_UNAVAILABLE, CODE_NO_ROOTFS,
		    "%.150s is on another file system than the sessions' storage %.150s",
		    root, storage);
	return 0;
}

static json_t *
describe(const char *all, const char *name)
{
	auto_free char *path = xasprintf("%s%s/recipe", all, name);
	auto_free char *root = xasprintf("%s%s/root", all, name);
	auto_buf struct buf text = { 0 };
	struct err ignored;
	json_t *v = NULL;
	bool found;

	if (file_read(AT_FDCWD, path, RECIPE_MAX, &found, &text, &ignored) <
		0 ||
	    !found || json_parse(text.data, text.len, &v, &ignored) < 0)
		v = json_object();
	json_object_set_new(v, "name", json_string(name));
	json_object_set_new(v, "root", json_string(root));
	return v;
}

int
rootfs_list(const struct conf *conf, json_t **out, struct err *e)
{
	auto_free char *all = rootfs_path(conf, "");
	auto_names char **names = NULL;

	if (file_names(AT_FDCWD, all, &names, e) < 0)
		return -1;
	*out = json_array();
	for (char **n = names; *n != NULL; n++)
		if ((*n)[0] != HIDDEN)
			json_array_append_new(*out, describe(all, *n));
	return 0;
}

int
rootfs_remove(const struct conf *conf, const char *name, struct err *e)
{
	auto_free char *path = rootfs_path(conf, name);
	auto_free char *gone = xasprintf("%s/rootfs/.gone-%s-%d",
	    conf->state_dir, name, (int)getpid());
	auto_fd int lock = -1;

	if (lock_rootfs(path, LOCK_EX, &lock, e) < 0)
		return -1;
	if (rename(path, gone) < 0)
		return err_errno(e, "%s", path);
	return remove_tree(gone, e);
}

int
rootfs_hold(const char *root, int *lock, struct err *e)
{
	const char *slash = strrchr(root, '/');
	auto_free char *dir = slash != NULL && slash > root
	    ? xasprintf("%.*s", (int)(slash - root), root)
	    : NULL;

	*lock = -1;
	return dir == NULL ? 0 : lock_rootfs(dir, LOCK_SH, lock, e);
}
