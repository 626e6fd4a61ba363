/* root.c: gives a cell a root file system that its session may change. */
#include "agent/cell/root.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/capability.h"
#include "common/mem.h"

enum { PATH_BYTES = 256, OPTIONS_BYTES = 512 };

/* Directories in the sandbox's root, made by src/provider/local/bwrap.c. */
#define LOWER "/lower"
#define POINT "/cell"

/*
 * The overlay works on its layers with the capabilities of the process that
 * mounted it, not of the caller.  It needs these to read, to copy a file up with
 * owner and mode, and to record removed files.  They reach no further than the
 * sandbox's user namespace, in which the service's user is the only one.
 */
static const int CAPABILITIES[] = { CAP_DAC_READ_SEARCH, CAP_DAC_OVERRIDE,
	CAP_CHOWN, CAP_FOWNER, CAP_MKNOD };

/*
 * Files that the root needs: host names, the resolver, and settings for one user
 * only.  One that `replaces` is written at each start: a root file system may
 * name the resolver of the machine on which it was made.
 */
static const struct {
	const char *path, *text;
	bool replaces;
} FILES[] = {
	{ "/etc/hosts",
	    "127.0.0.1 localhost sandbox\n::1 localhost ip6-localhost\n",
	    false },
	{ "/etc/resolv.conf", "nameserver 127.0.0.1\n", true },
	/* apt would download as the user _apt, which a cell cannot have */
	{ "/etc/apt/apt.conf.d/00sandlease", "APT::Sandbox::User \"root\";\n",
	    false },
};

/* ---- mounts moved from the sandbox's root into the new one */

/* Optional: left out if the source is missing or cannot be mounted. */
static const struct source {
	const char *from; /* relative: in the session's storage */
	const char *to;   /* below the new root */
	bool is_file, optional;
} SOURCES[] = {
	{ "/dev", "dev", false, false },
	{ "/sandlease-agent", "sandlease-agent", true, false },
	{ "/sandlease-ws", "sandlease-ws", true, true },
	{ "workspace", "workspace", false, false },
	{ "home", "home/user", false, false },
	{ "backups", "var/backups", false, true },
};

/* Mount points for file systems that cell.c mounts. */
static const char *const POINTS[] = { "proc", "sys", "tmp" };

/* Copies of the sources' mounts, not attached yet; -1: none. */
struct source_mounts {
	int fd[ARRAY_LEN(SOURCES)];
};

static void
source_mounts_close(struct source_mounts *t)
{
	for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++)
		mem_close_fd(&t->fd[i]);
}

#define auto_source_mounts __attribute__((cleanup(source_mounts_close)))

static int
open_source(const char *session, const struct source *s, int *fd, struct err *e)
{
	bool stored = s->from[0] != '/';
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "%s%s%s%s", stored ? "/sessions/" : "",
	    stored ? session : "", stored ? "/" : "", s->from);
	*fd = open_tree(AT_FDCWD, path,
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE |
		AT_SYMLINK_NOFOLLOW);
	if (*fd < 0 && errno == ENOENT && s->optional)
		return 0;
	if (*fd < 0)
		return err_errno(e, "open_tree %s", path);
	/* a set-uid file that a tenant puts on the host's disk has no effect */
	if (stored &&
	    mount_setattr(*fd, "", AT_EMPTY_PATH,
		&(struct mount_attr){
		    .attr_set = MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV },
		sizeof(struct mount_attr)) < 0)
		return err_errno(e, "mount_setattr");
	return 0;
}

/* ---- the overlay */

static int
make_dir(const char *path, mode_t mode, struct err *e)
{
	if (mkdir(path, mode) < 0 && errno != EEXIST)
		return err_errno(e, "mkdir %s", path);
	return 0;
}

/*
 * Gives the owner all rights on a directory: the session may have taken them
 * away, and its next start must enter the directory.
 */
static int
reopen_dir(const char *path, struct err *e)
{
	struct stat st;

	if (lstat(path, &st) < 0 ||
	    ((st.st_mode & S_IRWXU) != S_IRWXU &&
		chmod(path, (st.st_mode & ALLPERMS) | S_IRWXU) < 0))
		return err_errno(e, "%s", path);
	return 0;
}

static int
use_capabilities(bool on, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(CAPABILITIES); i++)
		if (capability_use(CAPABILITIES[i], on) < 0)
			return err_errno(e, "capability %d", CAPABILITIES[i]);
	return 0;
}

int
cell_root_prepare(struct err *e)
{
	return use_capabilities(false, e);
}

static int
mount_overlay(const char *session, struct err *e)
{
	char top[PATH_BYTES], upper[PATH_BYTES], work[PATH_BYTES];
	char options[OPTIONS_BYTES];
	int rc;

	snprintf(top, sizeof(top), "/sessions/%.64s/" CELL_ROOT_PART, session);
	snprintf(upper, sizeof(upper), "%.128s/upper", top);
	snprintf(work, sizeof(work), "%.128s/work", top);
	snprintf(options, sizeof(options),
	    "userxattr,lowerdir=" LOWER ",upperdir=%.150s,workdir=%.150s",
	    upper, work);
	if (make_dir(top, 0700, e) < 0 || make_dir(upper, 0755, e) < 0 ||
	    reopen_dir(upper, e) < 0 || make_dir(work, 0700, e) < 0 ||
	    use_capabilities(true, e) < 0)
		return -1;
	rc = mount("overlay", POINT, "overlay", MS_NOSUID | MS_NODEV, options);
	if (rc < 0)
		err_errno(e, "mount the writable root");
	return use_capabilities(false, e) < 0 ? -1 : rc;
}

/* ---- the new root, while this process is in its top directory */

/* Opens a directory or file in `dir`; makes it if it does not exist. */
static int
step_down(int dir, const char *name, bool is_file)
{
	if (is_file)
		(void)mknodat(dir, name, S_IFREG | 0444, 0);
	else
		(void)mkdirat(dir, name, 0755);
	return openat(dir, name,
	    O_PATH | O_NOFOLLOW | O_CLOEXEC | (is_file ? 0 : O_DIRECTORY));
}

/*
 * Opens a mount point, made if it does not exist.  Follows no symbolic link: the
 * session may have made one, and this process is not in the session's root yet,
 * so the link could lead out of it.
 */
static int
make_point(const char *path, bool is_file, struct err *e)
{
	auto_free char *copy = xstrdup(path);
	auto_fd int at = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *rest = copy, *name;
	struct stat st;

	while (at >= 0 && (name = strsep(&rest, "/")) != NULL) {
		int next = step_down(at, name, is_file && rest == NULL);

		mem_close_fd(&at);
		at = next;
	}
	if (at < 0 || fstat(at, &st) < 0 ||
	    !(is_file ? S_ISREG(st.st_mode) : S_ISDIR(st.st_mode)))
		return err_set(e, ERR_UNAVAILABLE, CODE_LAUNCH_FAILED,
		    "/%s in the root file system must be a %s, not a link",
		    path, is_file ? "file" : "directory");
	return take_fd(&at);
}

static int
attach_mount(int source, const char *to, bool is_file, struct err *e)
{
	auto_fd int point = make_point(to, is_file, e);

	if (point < 0)
		return -1;
	if (move_mount(source, "", point, "",
		MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return err_errno(e, "mount on /%s", to);
	return 0;
}

static int
make_points(struct err *e)
{
	auto_fd int home = -1;

	for (size_t i = 0; i < ARRAY_LEN(POINTS); i++) {
		auto_fd int point = make_point(POINTS[i], false, e);

		if (point < 0)
			return -1;
	}
	/*
	 * A mount point cannot be renamed or removed, so a session cannot put
	 * something else in its place before the next start.  Bind /home to
	 * itself only for this: it holds the mount point /home/user.
	 */
	home = make_point("home", false, e);
	if (home < 0 || reopen_dir("home", e) < 0)
		return -1;
	if (mount("home", "home", NULL, MS_BIND, NULL) < 0)
		return err_errno(e, "bind /home");
	return 0;
}

static int
fill_root(const struct source_mounts *t, struct err *e)
{
	if (make_points(e) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++)
		if (t->fd[i] >= 0 &&
		    attach_mount(t->fd[i], SOURCES[i].to, SOURCES[i].is_file,
			e) < 0 &&
		    !SOURCES[i].optional)
			return -1;
	/*
	 * Here and not after change_root(): the kernel permits a new proc only
	 * while another is visible, and only the old root has one.
	 */
	if (mount("proc", "proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		NULL) < 0)
		return err_errno(e, "mount /proc");
	return 0;
}

/* After pivot_root() both roots are mounted on "/", and "." is the old one. */
static int
change_root(struct err *e)
{
	if (syscall(SYS_pivot_root, ".", ".") < 0)
		return err_errno(e, "pivot_root");
	if (umount2(".", MNT_DETACH) < 0)
		return err_errno(e, "leave the sandbox's root");
	return chdir("/") < 0 ? err_errno(e, "chdir") : 0;
}

/* ---- in the new root */

/* Lets root's servers listen on port 80: root has no capability for it. */
static void
open_low_ports(void)
{
	auto_fd int fd = open("/proc/sys/net/ipv4/ip_unprivileged_port_start",
	    O_WRONLY | O_CLOEXEC);

	if (fd >= 0)
		(void)!write(fd, "0", 1);
}

/*
 * Makes /proc/sys read-only.  Since Linux 6.9 the sysctls of an ipc namespace
 * belong to the root of its user namespace, and here that is the tenant.
 */
static int
lock_sysctls(struct err *e)
{
	static const char WHERE[] = "/proc/sys";

	if (mount(WHERE, WHERE, NULL, MS_BIND, NULL) < 0 ||
	    mount(NULL, WHERE, NULL,
		MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV |
		    MS_NOEXEC,
		NULL) < 0)
		return err_errno(e, "lock %s", WHERE);
	return 0;
}

/* Writes the FILES that are missing or replaced; ignores errors such as a full disk. */
static void
write_files(void)
{
	for (size_t i = 0; i < ARRAY_LEN(FILES); i++) {
		auto_fd int fd = -1;

		if (FILES[i].replaces)
			unlink(FILES[i].path);
		fd = open(FILES[i].path,
		    O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (fd >= 0)
			(void)!write(fd, FILES[i].text, strlen(FILES[i].text));
	}
}

/* Makes `python`, as src/provider/local/bwrap.c:add_python does. */
static void
link_python(void)
{
	static const char *const DIRS[] = { "/etc/sandlease",
		"/etc/sandlease/bin" };
	static const char PYTHON[] = "/usr/bin/python3";

	if (access(PYTHON, X_OK) < 0)
		return;
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++)
		(void)mkdir(DIRS[i], 0755);
	(void)!symlink(PYTHON, "/etc/sandlease/bin/python");
}

int
cell_root_enter(const char *session, struct err *e)
{
	auto_source_mounts struct source_mounts t;

	memset(t.fd, -1, sizeof(t.fd));
	for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++)
		if (open_source(session, &SOURCES[i], &t.fd[i], e) < 0)
			return -1;
	if (mount_overlay(session, e) < 0)
		return -1;
	if (chdir(POINT) < 0)
		return err_errno(e, "chdir %s", POINT);
	if (fill_root(&t, e) < 0 || change_root(e) < 0)
		return -1;
	open_low_ports();
	if (lock_sysctls(e) < 0)
		return -1;
	write_files();
	link_python();
	return 0;
}
