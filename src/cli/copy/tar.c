/* tar.c: copies a directory to or from a session, as a tar stream. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/copy/copy.h"
#include "cli/output.h"
#include "common/mem.h"

extern char **environ;

/* ---- the local tar */

struct tar {
	pid_t pid; /* 0: tar has been waited for, or was not started */
	int fd;    /* our end of the pipe */
};

/* Starts tar with a pipe as its input (`reads`) or as its output. */
static int
spawn_tar(char *const *argv, bool reads, int ends[2], pid_t *pid)
{
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t none;
	int rc;

	sigemptyset(&none);
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, ends[reads ? 0 : 1],
	    reads ? STDIN_FILENO : STDOUT_FILENO);
	posix_spawnattr_init(&attr);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK);
	rc = posix_spawnp(pid, argv[0], &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return rc;
}

/*
 * Without these options, GNU tar warns of headers that it does not know, such
 * as the one for names that are not UTF-8.  It also makes a directory read-only
 * before it has unpacked all files in it.  They are in the environment because
 * other tars know neither the options nor the variable.
 */
static void
set_tar_options(void)
{
	const char *theirs = getenv("TAR_OPTIONS");
	auto_free char *all = xasprintf(
	    "%s --warning=no-unknown-keyword --delay-directory-restore",
	    theirs != NULL ? theirs : "");

	setenv("TAR_OPTIONS", all, 1);
}

static int
tar_start(struct tar *t, char *const *argv, bool reads, struct err *e)
{
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	set_tar_options();
	rc = spawn_tar(argv, reads, ends, &t->pid);
	close(ends[reads ? 0 : 1]);
	t->fd = ends[reads ? 1 : 0];
	if (rc == 0)
		return 0;
	t->pid = 0;
	mem_close_fd(&t->fd);
	errno = rc;
	return err_errno(e, "tar, which copies directories, cannot be run");
}

/* Waits for the end of tar; true if it succeeded. */
static bool
tar_wait(struct tar *t)
{
	int status = -1;

	mem_close_fd(&t->fd);
	if (t->pid > 0)
		while (waitpid(t->pid, &status, 0) < 0 && errno == EINTR)
			;
	t->pid = 0;
	return status == 0;
}

static void
tar_end(struct tar *t)
{
	if (t->pid > 0)
		kill(t->pid, SIGTERM);
	tar_wait(t);
}

#define auto_tar __attribute__((cleanup(tar_end)))

/* ---- up */

/* If tar failed, gives up the request: the session must not get the incomplete
 * archive as a whole one. */
static ssize_t
read_tar(void *ctx, char *to, size_t max)
{
	struct tar *t = ctx;
	ssize_t n;

	do
		n = read(t->fd, to, max);
	while (n < 0 && errno == EINTR);
	if (n == 0 && t->pid > 0 && !tar_wait(t))
		return -1;
	return n;
}

int
copy_tree_up(struct copy *k, const char *from, const char *to, struct err *e)
{
	auto_free char *path = copy_path(k, "archive", to, "");
	auto_free char *dir = xstrdup(from != NULL ? from : "");
	char *argv[] = { (char[]){ "tar" }, (char[]){ "-C" }, dir,
		(char[]){ "-cf" }, (char[]){ "-" }, (char[]){ "." }, NULL };
	auto_tar struct tar t = { .fd = -1 };
	struct request r = { .method = "PUT",
		.path = path,
		.read = read_tar,
		.read_size = -1,
		.ctx = &t };

	if (from == NULL)
		t.fd = dup(STDIN_FILENO);
	else if (tar_start(&t, argv, false, e) < 0)
		return -1;
	return copy_run(k, &r, NULL, e);
}

/* ---- down */

static bool
write_tar(void *ctx, const char *data, size_t len)
{
	return output_bytes(((struct tar *)ctx)->fd, data, len);
}

static int
make_accessible(const char *path, const struct stat *st, int flag,
    struct FTW *at)
{
	(void)st;
	(void)at;
	return flag == FTW_D ? chmod(path, 0700) : 0;
}

static int
remove_one(const char *path, const struct stat *st, int flag, struct FTW *at)
{
	(void)st;
	(void)flag;
	(void)at;
	return remove(path);
}

void
copy_remove_tree(const char *dir)
{
	/* nothing can be removed from a read-only directory */
	nftw(dir, make_accessible, 16, FTW_PHYS);
	nftw(dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Files from a sandbox keep neither their owner nor set-user-id bits here. */
static int
unpack(struct copy *k, const char *from, char *dir, struct err *e)
{
	auto_free char *path = copy_path(k, "archive", from, "?format=tar");
	char *argv[] = { (char[]){ "tar" }, (char[]){ "-C" }, dir,
		(char[]){ "--no-same-owner" },
		(char[]){ "--no-same-permissions" }, (char[]){ "-xf" },
		(char[]){ "-" }, NULL };
	auto_tar struct tar t = { .fd = -1 };
	struct request r = { .path = path, .sink = write_tar, .ctx = &t };
	int rc;

	if (tar_start(&t, argv, true, e) < 0)
		return -1;
	rc = copy_run(k, &r, NULL, e);
	if (rc < 0 && e->code != CODE_BROKEN)
		return -1;
	if (!tar_wait(&t))
		return err_set(e, ERR_INTERNAL, CODE_TAR,
		    "tar could not unpack it into %.150s", dir);
	return rc;
}

/* A directory that does not exist yet appears whole, by an atomic rename. */
static int
unpack_new(struct copy *k, const char *from, const char *to, struct err *e)
{
	auto_free char *temp = xasprintf("%s.XXXXXX", to);
	mode_t mask = umask(0);

	umask(mask);
	if (mkdtemp(temp) == NULL)
		return err_errno(e, "%.150s", to);
	if (unpack(k, from, temp, e) == 0) {
		if (chmod(temp, 0777 & ~mask) == 0 && rename(temp, to) == 0)
			return 0;
		err_errno(e, "%.150s", to);
	}
	copy_remove_tree(temp);
	return -1;
}

int
copy_tree_down(struct copy *k, const char *from, const char *to, struct err *e)
{
	auto_free char *dir = NULL;
	struct stat st;

	if (to == NULL) {
		auto_free char *path =
		    copy_path(k, "archive", from, "?format=tar");
		struct tar t = { .fd = STDOUT_FILENO };

		return copy_run(k,
		    &(struct request){ .path = path,
			.sink = write_tar,
			.ctx = &t },
		    NULL, e);
	}
	if (stat(to, &st) < 0)
		return unpack_new(k, from, to, e);
	dir = xstrdup(to);
	return unpack(k, from, dir, e);
}
