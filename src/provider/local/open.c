/* open.c: makes the directories of this host and checks what it needs. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "provider/cgroup/cgroup.h"
#include "provider/local/local.h"
#include "provider/local/start.h"

enum { RUN_DIR_MAX = 40, TRIAL_MS = 5000 };

static int
no_host(struct err *e, const char *what, const char *path)
{
	return err_set(e, ERR_UNAVAILABLE, CODE_HOST_NOT_READY, "%s %.150s: %s",
	    what, path, strerror(errno));
}

/*
 * Says that the entries of a directory have nothing to do with each other (chattr +T), so
 * that ext4 puts each one's files into another part of the disk.  Else all sandboxes have
 * their inodes in one group of blocks.  Without a journal ext4 does not use an inode again
 * for minutes, and after many deletions it looks at hundreds of them for each new file.
 * Other file systems refuse, which does no harm.
 */
static void
place_apart(const char *dir)
{
	auto_fd int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int flags;

	if (fd < 0 || ioctl(fd, FS_IOC_GETFLAGS, &flags) < 0 ||
	    (flags & FS_TOPDIR_FL) != 0)
		return;
	flags |= FS_TOPDIR_FL;
	(void)!ioctl(fd, FS_IOC_SETFLAGS, &flags);
}

/*
 * run_dir/s has nginx's group and another mode if the installer has made it.
 * run_dir is open to all users; the other directories are private.
 */
static int
make_dirs(const struct conf *c, struct err *e)
{
	const struct {
		const char *base, *name;
		mode_t mode;
		bool apart;
	} DIRS[] = {
		{ c->run_dir, "", 0755 },
		{ c->run_dir, "/s", 0750 },
		{ c->run_dir, "/c", 0700 },
		{ c->state_dir, "", 0700 },
		{ c->state_dir, "/artifacts", 0700 },
		{ c->state_dir, "/box", 0700, .apart = true },
		{ c->state_dir, "/jobs", 0700 },
		{ c->state_dir, "/snapshots", 0700 },
		{ c->state_dir, "/storage", 0700, .apart = true },
		{ c->state_dir, "/trash", 0700 },
	};

	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path =
		    xasprintf("%s%s", DIRS[i].base, DIRS[i].name);

		if (mkdir(path, DIRS[i].mode) < 0 && errno != EEXIST)
			return no_host(e, "cannot make directory", path);
		if (access(path, W_OK | X_OK) < 0)
			return no_host(e, "cannot write in directory", path);
		if (DIRS[i].apart)
			place_apart(path);
	}
	return 0;
}

/* Checks that other users of this host cannot enter a directory. */
static int
check_private(const char *dir, struct err *e)
{
	struct stat st;

	if (stat(dir, &st) < 0)
		return no_host(e, "cannot see directory", dir);
	if ((st.st_mode & 077) != 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_HOST_NOT_READY,
		    "directory %.150s must have mode 0700, it has %04o", dir,
		    (unsigned)(st.st_mode & 07777));
	return 0;
}

int
local_ready(const struct provider *p, struct err *e)
{
	const struct conf *c = p->conf;
	const struct {
		const char *what, *path;
		int mode;
	} NEEDED[] = {
		{ "cannot write in directory", c->run_dir, W_OK | X_OK },
		{ "cannot write in directory", c->state_dir, W_OK | X_OK },
		{ "bubblewrap is needed, bwrap_path", c->bwrap_path, X_OK },
		{ "the agent is needed, agent_path", c->agent_path, X_OK },
	};

	for (size_t i = 0; i < ARRAY_LEN(NEEDED); i++)
		if (access(NEEDED[i].path, NEEDED[i].mode) < 0)
			return no_host(e, NEEDED[i].what, NEEDED[i].path);
	return 0;
}

int
local_open(const struct provider *p, struct err *e)
{
	const struct conf *c = p->conf;
	auto_free char *control = xasprintf("%s/c", c->run_dir);
	struct cgroup_tree t;
	struct err ignored;

	if (strlen(c->run_dir) > RUN_DIR_MAX)
		return err_set(e, ERR_UNAVAILABLE, CODE_HOST_NOT_READY,
		    "run_dir is longer than %d bytes: %.100s", RUN_DIR_MAX,
		    c->run_dir);
	if (make_dirs(c, e) < 0 || check_private(c->state_dir, e) < 0 ||
	    check_private(control, e) < 0)
		return -1;
	if (cgroup_find(c->cgroup_root, &t, e) < 0)
		return -1;
	/* may fail: a group made by the operator is not always ours to limit */
	(void)!cgroup_limit_all(&t, &ignored);
	return 0;
}

int
local_check(const struct provider *p, struct err *e)
{
	auto_free char *bwrap = xstrdup(p->conf->bwrap_path);
	char *argv[] = { bwrap, (char[]){ "--unshare-user" },
		(char[]){ "--unshare-pid" }, (char[]){ "--unshare-net" },
		(char[]){ "--disable-userns" }, (char[]){ "--ro-bind" },
		(char[]){ "/" }, (char[]){ "/" }, (char[]){ "--proc" },
		(char[]){ "/proc" }, (char[]){ "--" }, (char[]){ "/bin/true" },
		NULL };
	char line[ERR_MSG_MAX / 2];

	if (!start_try(argv, clock_ms() + TRIAL_MS, line, sizeof(line)))
		return err_set(e, ERR_UNAVAILABLE, CODE_HOST_NOT_READY,
		    "bubblewrap cannot make a sandbox here (are unprivileged "
		    "user namespaces allowed?): %s",
		    line);
	return 0;
}
