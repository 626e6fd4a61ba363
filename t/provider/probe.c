/*
 * probe.c: describes the sandbox in which it is process 1, a fact a line.
 *
 * Takes the place of sandlease-agent in conformance_launcher.c.  Static, since a
 * sandbox with a writable root has no libraries.  Writes to stderr, the
 * sandbox's log, and ends with a line "end".
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, DEPTH_MAX = 6, LIMITS = 16 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

extern char **environ;

static void
say_file(const char *path)
{
	char line[PATH_BYTES];
	FILE *f = fopen(path, "r");

	if (f == NULL)
		fprintf(stderr, "file %s: %s\n", path, strerror(errno));
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		fprintf(stderr, "file %s: %s\n", path, line);
	}
	if (f != NULL)
		fclose(f);
}

/* Lines of /proc/self/status about rights and identity. */
static void
say_status(void)
{
	static const char *const KEYS[] = { "Umask", "Uid", "Gid", "Groups",
		"NStgid", "NSpgid", "NSsid", "Threads", "SigBlk", "SigIgn",
		"SigCgt", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb",
		"NoNewPrivs", "Seccomp", "Seccomp_filters", "TracerPid" };
	char line[PATH_BYTES];
	FILE *f = fopen("/proc/self/status", "r");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		size_t len = strcspn(line, ":");

		line[strcspn(line, "\n")] = '\0';
		for (size_t i = 0; i < COUNT(KEYS); i++)
			if (strlen(KEYS[i]) == len &&
			    strncmp(KEYS[i], line, len) == 0)
				fprintf(stderr, "status %s\n", line);
	}
	if (f != NULL)
		fclose(f);
}

/* Which user namespace owns another: this process's, or one above it. */
static const char *
owner_of(int fd, const struct stat *own)
{
	int owner = ioctl(fd, NS_GET_USERNS);
	struct stat st;

	if (owner < 0)
		return errno == EPERM ? "one above" : strerror(errno);
	if (fstat(owner, &st) < 0)
		return "unknown";
	close(owner);
	return st.st_ino == own->st_ino ? "own" : "another";
}

static void
say_namespaces(void)
{
	static const char *const NAMES[] = { "cgroup", "ipc", "mnt", "net",
		"pid", "pid_for_children", "user", "uts" };
	struct stat own = { 0 };

	stat("/proc/self/ns/user", &own);
	for (size_t i = 0; i < COUNT(NAMES); i++) {
		char path[64], target[64] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", NAMES[i]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			continue;
		fprintf(stderr, "namespace %s %s\n", NAMES[i], target);
		fprintf(stderr, "owner of %s: %s\n", NAMES[i],
		    owner_of(fd, &own));
		close(fd);
	}
}

static void
say_descriptors(void)
{
	for (int fd = 0; fd < 1024; fd++) {
		char path[64], target[PATH_BYTES] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) < 0)
			continue;
		/* the number of a socket is different each time */
		target[strcspn(target, "[")] = '\0';
		fprintf(stderr, "descriptor %d %s flags %#x\n", fd,
		    strrchr(target, '/') != NULL ? strrchr(target, '/')
						 : target,
		    (unsigned)fcntl(fd, F_GETFD));
	}
}

/* All files of the sandbox's own file systems, not those of the host. */
static void
say_files(const char *dir, dev_t dev, int depth)
{
	DIR *d = opendir(dir[0] != '\0' ? dir : "/");
	const struct dirent *entry;

	while (d != NULL && (entry = readdir(d)) != NULL) {
		char path[PATH_BYTES], target[PATH_BYTES] = "";
		struct stat st;

		if (strcmp(entry->d_name, ".") == 0 ||
		    strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(path, sizeof(path), "%.2000s/%s", dir, entry->d_name);
		if (lstat(path, &st) < 0)
			continue;
		if (S_ISLNK(st.st_mode))
			(void)!readlink(path, target, sizeof(target) - 1);
		fprintf(stderr, "path %s mode %o owner %u:%u device %x %s\n",
		    path, (unsigned)st.st_mode, st.st_uid, st.st_gid,
		    (unsigned)st.st_rdev, target);
		if (S_ISDIR(st.st_mode) && st.st_dev == dev &&
		    depth < DEPTH_MAX)
			say_files(path, dev, depth + 1);
	}
	if (d != NULL)
		closedir(d);
}

static void
say_loopback(void)
{
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct ifreq r = { .ifr_name = "lo" };

	fprintf(stderr, "loopback is %s\n",
	    ioctl(fd, SIOCGIFFLAGS, &r) < 0   ? strerror(errno)
		: (r.ifr_flags & IFF_UP) != 0 ? "up"
					      : "down");
	close(fd);
}

static void
say_attempt(const char *what, int rc)
{
	fprintf(stderr, "attempt %s: %s\n", what,
	    rc < 0 ? strerror(errno) : "succeeds");
}

/* Calls that must fail, or succeed, alike. */
static void
say_attempts(void)
{
	say_attempt("unshare user", unshare(CLONE_NEWUSER));
	say_attempt("mount tmpfs on /", mount("tmpfs", "/", "tmpfs", 0, NULL));
	say_attempt("remount / writable",
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	say_attempt("unmount /proc", umount2("/proc", MNT_DETACH));
	say_attempt("sethostname", sethostname("x", 1));
	say_attempt("chroot", chroot("/"));
	say_attempt("mkdir /x", mkdir("/x", 0755));
	say_attempt("mkdir /dev/x", mkdir("/dev/x", 0755));
	say_attempt("open /dev/null", open("/dev/null", O_RDWR | O_CLOEXEC));
	say_attempt("open /dev/ptmx",
	    open("/dev/ptmx", O_RDWR | O_CLOEXEC | O_NOCTTY));
	say_attempt("mknod in /tmp", mknod("/tmp/n", S_IFCHR | 0600, 0x103));
	say_attempt("raise user limit",
	    open("/proc/sys/user/max_user_namespaces", O_WRONLY | O_CLOEXEC));
	say_attempt("write sysctl",
	    open("/proc/sys/kernel/hostname", O_WRONLY | O_CLOEXEC));
	say_attempt("unshare mount", unshare(CLONE_NEWNS));
	say_attempt("then remount / writable",
	    mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND, NULL));
	say_attempt("then unmount /tmp", umount2("/tmp", MNT_DETACH));
	say_attempt("then mount proc",
	    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
		NULL));
	say_attempt("unshare network", unshare(CLONE_NEWNET));
}

int
main(void)
{
	struct stat root = { 0 };
	char name[64] = "", cwd[64] = "";

	say_status();
	say_file("/proc/self/uid_map");
	say_file("/proc/self/gid_map");
	say_file("/proc/self/setgroups");
	say_file("/proc/sys/user/max_user_namespaces");
	say_file("/proc/self/cgroup");
	say_file("/etc/passwd");
	say_file("/proc/self/mountinfo");
	say_namespaces();
	say_descriptors();
	for (char **e = environ; *e != NULL; e++)
		fprintf(stderr, "environment %s\n", *e);
	gethostname(name, sizeof(name));
	fprintf(stderr, "host name %s\n", name);
	fprintf(stderr, "directory %s\n", getcwd(cwd, sizeof(cwd)));
	fprintf(stderr, "pid %d session %d group %d terminal %d\n", getpid(),
	    getsid(0), getpgrp(), open("/dev/tty", O_RDWR | O_CLOEXEC));
	fprintf(stderr, "dumpable %d securebits %d keepcaps %d\n",
	    prctl(PR_GET_DUMPABLE), prctl(PR_GET_SECUREBITS),
	    prctl(PR_GET_KEEPCAPS));
	for (int i = 0; i < LIMITS; i++) {
		struct rlimit r = { 0 };

		getrlimit((__rlimit_resource_t)i, &r);
		fprintf(stderr, "limit %d %lld %lld\n", i,
		    (long long)r.rlim_cur, (long long)r.rlim_max);
	}
	stat("/", &root);
	say_files("", root.st_dev, 0);
	stat("/dev", &root);
	say_files("/dev", root.st_dev, 0);
	say_loopback();
	say_attempts();
	fprintf(stderr, "end\n");
	return 1;
}
