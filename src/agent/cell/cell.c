/* cell.c: makes a cell: namespaces, mounts, limits, privileges. */
#include "agent/cell/cell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/base/sysfilter.h"
#include "agent/cell/cgroup_view.h"
#include "agent/cell/init.h"
#include "agent/cell/limits_view.h"
#include "agent/cell/rlimits.h"
#include "agent/cell/root.h"
#include "common/mem.h"

enum { TMP_MB = 256, SHM_MB = 64, PATH_BYTES = 256 };

/* A limit per cell, because kernel.pty.max counts for the whole machine. */
#define TERMINALS_MAX "64"

static char *title;
static size_t title_size;

void
cell_prepare(char **argv)
{
	static const char *const DIRS[] = { "/workspace", "/home", "/home/user",
		"/dev/shm", "/sys" };

	/* a read-only root must have them already; else mount() will fail */
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++)
		(void)mkdir(DIRS[i], 0755);
	title = argv[0];
	while (argv[1] != NULL)
		argv++;
	title_size = (size_t)(argv[0] + strlen(argv[0]) + 1 - title);
}

/* ---- steps, each in the cell's first process */

static int
mount_tmp(const char *where, int64_t mb, const char *mode, struct err *e)
{
	char options[64];

	snprintf(options, sizeof(options), "size=%lldm,mode=%s", (long long)mb,
	    mode);
	if (mount("tmpfs", where, "tmpfs", MS_NOSUID | MS_NODEV, options) < 0)
		return err_errno(e, "mount %s", where);
	return 0;
}

static int
bind_storage(const char *session, const char *what, const char *where,
    struct err *e)
{
	char from[PATH_BYTES];

	snprintf(from, sizeof(from), "/sessions/%s/%s", session, what);
	if (mount(from, where, NULL, MS_BIND, NULL) < 0)
		return err_errno(e, "bind %s on %s", from, where);
	/* a set-uid file that a tenant puts on the host's disk has no effect */
	if (mount(NULL, where, NULL,
		MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) < 0)
		return err_errno(e, "remount %s", where);
	return 0;
}

/* Makes a mount read-only that the sandbox's cells share. */
static int
lock_mount(const char *where, struct err *e)
{
	/* the kernel refuses a remount that clears one of these flags */
	static const struct {
		unsigned long has, keep;
	} FLAGS[] = {
		{ ST_NOSUID, MS_NOSUID },
		{ ST_NODEV, MS_NODEV },
		{ ST_NOEXEC, MS_NOEXEC },
		{ ST_NOATIME, MS_NOATIME },
		{ ST_NODIRATIME, MS_NODIRATIME },
		{ ST_RELATIME, MS_RELATIME },
	};
	unsigned long flags = MS_REMOUNT | MS_BIND | MS_RDONLY;
	struct statvfs v;

	if (statvfs(where, &v) < 0)
		return err_errno(e, "statvfs %s", where);
	for (size_t i = 0; i < ARRAY_LEN(FLAGS); i++)
		if ((v.f_flag & FLAGS[i].has) != 0)
			flags |= FLAGS[i].keep;
	if (mount(NULL, where, NULL, flags, NULL) < 0)
		return err_errno(e, "remount %s read-only", where);
	return 0;
}

/* Mounts the session's own directories, and hides those of its siblings. */
static int
mount_storage(const struct launch *l, struct err *e)
{
	static const char BACKUPS[] = "/var/backups";
	struct stat st;

	if (bind_storage(l->session, "workspace", "/workspace", e) < 0 ||
	    bind_storage(l->session, "home", "/home/user", e) < 0)
		return -1;
	/* a class's root without this directory has no backups */
	if (stat(BACKUPS, &st) == 0 && S_ISDIR(st.st_mode) &&
	    bind_storage(l->session, "backups", BACKUPS, e) < 0)
		return -1;
	/* last: this hides the directories of all sessions */
	if (mount("tmpfs", "/sessions", "tmpfs",
		MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY,
		"size=4k,mode=755") < 0)
		return err_errno(e, "cover /sessions");
	return lock_mount("/", e);
}

static int
make_mounts(const struct cell_options *s, int *meminfo, struct err *e)
{
	const struct launch *l = s->launch;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return err_errno(e, "make mounts private");
	if (s->writable_root && cell_root_enter(l->session, e) < 0)
		return -1;
	if (!s->writable_root &&
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		NULL) < 0)
		return err_errno(e, "mount /proc");
	if (limits_view_mount(l, meminfo, e) < 0)
		return -1;
	cgroup_view_mount(l, s->cgroups, s->cgroup_count);
	if (mount_tmp("/tmp", l->tmp_mb > 0 ? l->tmp_mb : TMP_MB, "1777", e) <
		0 ||
	    mount_tmp("/dev/shm", SHM_MB, "1777", e) < 0)
		return -1;
	/* terminals of this cell only; without the directory there are none */
	if (mount("devpts", "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC,
		"newinstance,ptmxmode=0666,mode=620,max=" TERMINALS_MAX) < 0 &&
	    errno != ENOENT)
		return err_errno(e, "mount /dev/pts");
	if (lock_mount("/dev", e) < 0)
		return -1;
	return s->writable_root ? 0 : mount_storage(l, e);
}

static int
raise_loopback(struct err *e)
{
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { .ifr_name = "lo" };

	r.ifr_flags = IFF_UP | IFF_RUNNING;
	if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &r) < 0)
		return err_errno(e, "loopback");
	return 0;
}

static int
drop_privileges(bool root, struct err *e)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { 0 };

	/* else execve() would give root its capabilities back */
	if (root &&
	    prctl(PR_SET_SECUREBITS,
		SECBIT_NOROOT | SECBIT_NOROOT_LOCKED |
		    SECBIT_NO_CAP_AMBIENT_RAISE |
		    SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED,
		0, 0, 0) < 0)
		return err_errno(e, "securebits");
	/*
	 * Without CAP_SETPCAP this fails, and the bounding set stays as bwrap
	 * left it.  That is harmless: with no_new_privs, a process cannot gain
	 * capabilities from it.
	 */
	for (int cap = 0; cap <= CAP_LAST_CAP; cap++)
		(void)prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ||
	    syscall(SYS_capset, &head, none) < 0)
		return err_errno(e, "cannot drop capabilities");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return err_errno(e, "no_new_privs");
	if (sysfilter_install(root) < 0)
		return err_errno(e, "seccomp");
	return 0;
}

/*
 * Moves channel and meminfo to the wrapper's numbers, and closes all other
 * descriptors but 0, 1 and 2.  *channel gets its new number.
 */
static int
keep_descriptors(int *channel, int meminfo, struct err *e)
{
	/* each may have the other's number, so move meminfo out of the way */
	int high = fcntl(meminfo, F_DUPFD_CLOEXEC, WRAPPER__END);

	if (high < 0 ||
	    (*channel != WRAPPER_CHANNEL &&
		dup2(*channel, WRAPPER_CHANNEL) < 0))
		return err_errno(e, "dup2");
	*channel = WRAPPER_CHANNEL;
	if (dup2(high, WRAPPER_MEMINFO) < 0)
		return err_errno(e, "dup2");
	if (close_range(WRAPPER__END, ~0U, 0) < 0)
		return err_errno(e, "close_range");
	return fcntl(WRAPPER_CHANNEL, F_SETFD, FD_CLOEXEC);
}

static int
build_cell(const struct cell_options *s, int *channel, struct err *e)
{
	int meminfo = STDIN_FILENO; /* /dev/null: the kernel's meminfo stays */

	for (size_t i = 0; i < s->cgroup_count; i++)
		if (write(s->cgroups[i], "0", 1) != 1)
			return err_errno(e, "cannot join cgroup %zu", i);
	if (make_mounts(s, &meminfo, e) < 0 || raise_loopback(e) < 0 ||
	    keep_descriptors(channel, meminfo, e) < 0 ||
	    rlimits_set(s->launch, e) < 0)
		return -1;
	return drop_privileges(s->writable_root, e);
}

static _Noreturn void
first_process(const struct cell_options *s)
{
	static const char NAME[] = "sandlease-cell";
	struct err e = { 0 }, ignored;
	int channel = s->channel;

	/* `ps` would show init's arguments, which name the sandbox */
	memset(title, 0, title_size);
	snprintf(title, title_size, "%s", NAME);
	prctl(PR_SET_NAME, NAME);
	prctl(PR_SET_DUMPABLE, 0);
	if (build_cell(s, &channel, &e) < 0) {
		auto_json json_t *msg = json_pack("{s:b, s:s, s:s}", "ok", 0,
		    "code", code_word(CODE_LAUNCH_FAILED), "message", e.msg);

		(void)!channel_send(channel, msg, NULL, 0, &ignored);
		_exit(1);
	}
	cell_init_run(s->launch, s->agent);
}

pid_t
cell_start(const struct cell_options *s, struct err *e)
{
	/* no CLONE_VM: as after fork(), the child has a copy of the memory */
	pid_t pid = (pid_t)syscall(SYS_clone,
	    CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | SIGCHLD |
		(s->keeps_network ? 0 : CLONE_NEWNET),
	    0, 0, 0, 0);

	if (pid < 0)
		return err_errno(e, "cannot make a cell");
	if (pid == 0)
		first_process(s);
	return pid;
}
