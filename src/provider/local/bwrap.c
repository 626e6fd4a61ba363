/* bwrap.c: builds the command line of bwrap for a sandbox. */
#include "provider/local/bwrap.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"
#include "provider/store/rootfs.h"

enum { LINK_MAX_BYTES = 4096, PROGRAM_MAX = 64 };

/* An option of bwrap with up to two arguments. */
struct option {
	const char *name;
	const char *a;
	const char *b;
};

const char *const BWRAP_FILES[BWRAP_FD__END] = {
	[BWRAP_FD_PASSWD] =
	    "root:x:0:0:root:/:/usr/sbin/nologin\n"
	    "user:x:1000:1000:user:/home/user:/bin/bash\n"
	    "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
	[BWRAP_FD_GROUP] = "root:x:0:\nuser:x:1000:\nnogroup:x:65534:\n",
	[BWRAP_FD_HOSTS] = "127.0.0.1 localhost sandbox\n"
			   "::1 localhost ip6-localhost\n",
	[BWRAP_FD_NSSWITCH] = "passwd: files\ngroup: files\n"
			      "hosts: files dns\n",
	/* for login shells: ssh starts them with an environment of its own */
	[BWRAP_FD_PROFILE] =
	    "case :$PATH: in\n"
	    "*:/home/user/.local/bin:*) ;;\n"
	    "*) export PATH=\"/home/user/.local/bin:$PATH\" ;;\n"
	    "esac\n"
	    "[ -z \"${PS1-}\" ] || [ -z \"${BASH-}\" ] || . /etc/bash.bashrc\n",
	/*
	 * For interactive shells; bash reads ~/.bashrc after it.  A sleep kills
	 * shells, so each command goes to the history file at once.
	 */
	[BWRAP_FD_BASHRC] =
	    "[ -n \"${PS1-}\" ] || return 0\n"
	    "shopt -s checkwinsize histappend\n"
	    "HISTCONTROL=ignoreboth HISTSIZE=10000 HISTFILESIZE=20000\n"
	    "PROMPT_COMMAND='history -a'\n"
	    "PS1='\\u@${SANDLEASE_SESSION_NAME:-\\h}:\\w\\$ '\n"
	    "[ \"$TERM\" = dumb ] || {\n"
	    "PS1='\\[\\e[1;32m\\]\\u@${SANDLEASE_SESSION_NAME:-\\h}\\[\\e[0m\\]:'\n"
	    "PS1+='\\[\\e[1;34m\\]\\w\\[\\e[0m\\]\\$ '\n"
	    "alias ls='ls --color=auto' grep='grep --color=auto'\n"
	    "}\n"
	    "alias ll='ls -alF'\n",
};

/* clang-format off */
static const struct option FIRST[] = {
	{ "--unshare-user" },
	{ "--unshare-pid" },
	{ "--unshare-ipc" },
	{ "--unshare-uts" },
	{ "--unshare-net" },
	{ "--unshare-cgroup" },
	{ "--disable-userns" },
	{ "--as-pid-1" },
	{ "--new-session" },
	{ "--clearenv" },
	{ "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin" },
	{ "--setenv", "LANG", "C.UTF-8" },
	{ "--hostname", "sandbox" },
	/* in the sandbox's own user namespace: init makes cells with them */
	{ "--cap-drop", "ALL" },
	{ "--cap-add", "CAP_SYS_ADMIN" },
	{ "--cap-add", "CAP_NET_ADMIN" },
	/* init opens the sockets of a cell's network: port 53 and others */
	{ "--cap-add", "CAP_NET_BIND_SERVICE" },
	{ "--cap-add", "CAP_SYS_RESOURCE" },
	/* only for the child of init that measures the disk usage of cells */
	{ "--cap-add", "CAP_DAC_READ_SEARCH" },
	{ "--cap-add", "CAP_SYS_PTRACE" },
	{ "--dir", "/etc" },
	{ "--symlink", "../usr/lib/os-release", "/etc/os-release" },
};

/* The tenant's user id with a read-only root, and with a writable one. */
static const struct option USER[] = {
	{ "--uid", "1000" },
	{ "--gid", "1000" },
};
static const struct option ROOT_USER[] = {
	{ "--uid", "0" },
	{ "--gid", "0" },
	/* init mounts an overlay with them: src/agent/cell/root.c */
	{ "--cap-add", "CAP_DAC_OVERRIDE" },
	{ "--cap-add", "CAP_CHOWN" },
	{ "--cap-add", "CAP_FOWNER" },
	{ "--cap-add", "CAP_MKNOD" },
	/* cells drop from the bounding set what root would get at each exec */
	{ "--cap-add", "CAP_SETPCAP" },
	{ "--dir", "/cell" },
};

/* Paths of /etc that sandboxes see if the root has them; mounts cost time. */
static const char *const ETC[] = {
	"/etc/alternatives", "/etc/fonts", "/etc/java-17-openjdk", "/etc/java-21-openjdk", "/etc/ld.so.cache", "/etc/localtime", "/etc/matplotlibrc", "/etc/ssl/certs", "/etc/ssl/openssl.cnf",
};

static const struct option DEVICES[] = {
	{ "--proc", "/proc" },
	{ "--dev", "/dev" },
	/* with /dev/shm: cells mount their own there */
	{ "--remount-ro", "/dev" },
};

static const struct option POINTS[] = {
	{ "--dir", "/home/user" },
	{ "--dir", "/workspace" },
	/* cells show their limits below it */
	{ "--dir", "/sys" },
};

/* For a root without a /var of its own. */
static const struct option VAR[] = {
	{ "--dir", "/var/backups" },
	{ "--symlink", "/tmp", "/var/tmp" },
};
/* clang-format on */

/*
 * HOST_DIRS: the directories of the host that a sandbox sees if its class has
 * no root file system.  SKIPPED: of a class's root file system a sandbox sees
 * all top directories except these.
 */
static const char *const HOST_DIRS[] = { "/usr", "/bin", "/sbin", "/lib",
	"/lib32", "/lib64", "/libx32" };
static const char *const SKIPPED[] = { "dev", "etc", "home", "proc", "root",
	"run", "sandlease-agent", "sandlease-ws", "sessions", "sys", "tmp",
	"workspace" };

static void
add_word(struct bwrap_argv *a, const char *word)
{
	a->v = xrealloc(a->v, (a->count + 2) * sizeof(*a->v));
	a->v[a->count++] = xstrdup(word);
	a->v[a->count] = NULL;
}

static void
add_option(struct bwrap_argv *a, const char *name, const char *x, const char *y)
{
	add_word(a, name);
	if (x != NULL)
		add_word(a, x);
	if (y != NULL)
		add_word(a, y);
}

static void
add_options(struct bwrap_argv *a, const struct option *o, size_t count)
{
	for (size_t i = 0; i < count; i++)
		add_option(a, o[i].name, o[i].a, o[i].b);
}

static void
add_number(struct bwrap_argv *a, const char *name, int64_t n, const char *y)
{
	auto_free char *text = xasprintf("%" PRId64, n);

	add_option(a, name, text, y);
}

/* Binds a directory or file of the root, or makes the same symlink. */
static int
add_path(struct bwrap_argv *a, const char *root, const char *inside,
    struct err *e)
{
	auto_free char *path = xasprintf("%s%s", root, inside);
	struct stat st;

	if (lstat(path, &st) < 0)
		return errno == ENOENT || errno == ENOTDIR
		    ? 0
		    : err_errno(e, "%s", path);
	if (S_ISLNK(st.st_mode)) {
		char target[LINK_MAX_BYTES];
		ssize_t n = readlink(path, target, sizeof(target) - 1);

		if (n < 0)
			return err_errno(e, "readlink %s", path);
		target[n] = '\0';
		add_option(a, "--symlink", target, inside);
	} else if (S_ISDIR(st.st_mode) || S_ISREG(st.st_mode)) {
		add_option(a, "--ro-bind", path, inside);
	}
	return 0;
}

static bool
is_skipped(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(SKIPPED); i++)
		if (str_equal(name, SKIPPED[i]))
			return true;
	return false;
}

static int
compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Adds all directories, files and symlinks at the top of a class's root. */
static int
add_rootfs(struct bwrap_argv *a, const char *root, struct err *e)
{
	auto_names char **names = NULL;
	size_t count = 0;

	if (file_names(AT_FDCWD, root, &names, e) < 0)
		return -1;
	while (names[count] != NULL)
		count++;
	if (count == 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_NO_ROOTFS,
		    "the class's root file system %.150s is not there", root);
	qsort(names, count, sizeof(*names), compare_names);
	for (char **n = names; *n != NULL; n++) {
		auto_free char *inside = xasprintf("/%s", *n);

		if (!is_skipped(*n) && add_path(a, root, inside, e) < 0)
			return -1;
	}
	return 0;
}

static int
add_paths(struct bwrap_argv *a, const char *root, const char *const *paths,
    size_t count, struct err *e)
{
	for (size_t i = 0; i < count; i++)
		if (add_path(a, root, paths[i], e) < 0)
			return -1;
	return 0;
}

static int
add_root(struct bwrap_argv *a, const char *root, struct err *e)
{
	int rc = root[0] != '\0'
	    ? add_rootfs(a, root, e)
	    : add_paths(a, "", HOST_DIRS, ARRAY_LEN(HOST_DIRS), e);

	return rc < 0 ? -1 : add_paths(a, root, ETC, ARRAY_LEN(ETC), e);
}

static void
add_var(struct bwrap_argv *a, const char *root)
{
	auto_free char *path = xasprintf("%s/var", root);
	struct stat st;

	if (root[0] == '\0' || lstat(path, &st) < 0)
		add_options(a, VAR, ARRAY_LEN(VAR));
}

static void
add_files(struct bwrap_argv *a)
{
	static const struct {
		enum bwrap_fd fd;
		const char *path;
	} FILES[] = { { BWRAP_FD_PASSWD, "/etc/passwd" },
		{ BWRAP_FD_GROUP, "/etc/group" },
		{ BWRAP_FD_HOSTS, "/etc/hosts" },
		{ BWRAP_FD_NSSWITCH, "/etc/nsswitch.conf" },
		{ BWRAP_FD_PROFILE, "/etc/profile" },
		{ BWRAP_FD_BASHRC, "/etc/bash.bashrc" } };

	for (size_t i = 0; i < ARRAY_LEN(FILES); i++) {
		add_option(a, "--perms", "0444", NULL);
		add_number(a, "--file", FILES[i].fd, FILES[i].path);
	}
}

/* The path of a program inside the sandbox; NULL if the root has none. */
static const char *
find_program(const char *root, const char *name, char *path, size_t size)
{
	static const char *const DIRS[] = { "/usr/local/bin", "/usr/bin",
		"/bin" };

	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *outside =
		    xasprintf("%s%s/%s", root, DIRS[i], name);
		struct stat st;

		snprintf(path, size, "%s/%s", DIRS[i], name);
		/* lstat(): a symlink's target may exist only in the sandbox */
		if (lstat(outside, &st) == 0)
			return path;
	}
	return NULL;
}

/*
 * Makes a link `python` to python3 in the last directory of PATH: Debian has
 * none, but scripts call it.
 */
static void
add_python(struct bwrap_argv *a, const char *root)
{
	char path[PROGRAM_MAX];

	if (find_program(root, "python", path, sizeof(path)) == NULL &&
	    find_program(root, "python3", path, sizeof(path)) != NULL)
		add_option(a, "--symlink", path, "/etc/sandlease/bin/python");
}

static void
add_agent(struct bwrap_argv *a, const struct bwrap_spec *s)
{
	add_option(a, "--", "/sandlease-agent", "init");
	add_number(a, "--control-fd", BWRAP_FD_CONTROL, NULL);
	add_option(a, "--incarnation", s->incarnation, NULL);
	add_option(a, "--sandbox", s->sandbox, NULL);
	add_option(a, "--log-level", s->log_level, NULL);
	add_option(a, "--log-format", s->log_format, NULL);
	add_number(a, "--log-kb", s->log_kb, NULL);
	if (s->writable_root)
		add_option(a, "--writable-root", "yes", NULL);
}

/*
 * Binds a writable root at /lower.  Each cell has it as its root, in an overlay
 * of its own; init has not.
 */
static int
add_lower(struct bwrap_argv *a, const struct bwrap_spec *s, struct err *e)
{
	if (rootfs_check_writable(s->root, s->storage, e) < 0)
		return -1;
	add_options(a, ROOT_USER, ARRAY_LEN(ROOT_USER));
	add_option(a, "--ro-bind", s->root, "/lower");
	add_files(a); /* else bwrap would leave their descriptors open */
	add_options(a, DEVICES, ARRAY_LEN(DEVICES));
	return 0;
}

/* Adds the read-only root that init and all cells see. */
static int
add_read_only(struct bwrap_argv *a, const struct bwrap_spec *s, struct err *e)
{
	add_options(a, USER, ARRAY_LEN(USER));
	if (add_root(a, s->root, e) < 0)
		return -1;
	add_files(a);
	add_options(a, DEVICES, ARRAY_LEN(DEVICES));
	add_options(a, POINTS, ARRAY_LEN(POINTS));
	add_var(a, s->root);
	add_python(a, s->root);
	return 0;
}

int
bwrap_argv(const struct bwrap_spec *s, struct bwrap_argv *out, struct err *e)
{
	auto_argv struct bwrap_argv a = { 0 };

	add_word(&a, s->bwrap);
	add_options(&a, FIRST, ARRAY_LEN(FIRST));
	if ((s->writable_root ? add_lower : add_read_only)(&a, s, e) < 0)
		return -1;
	add_number(&a, "--size", s->tmp_bytes, NULL);
	add_option(&a, "--tmpfs", "/tmp", NULL);
	add_option(&a, "--bind", s->storage, "/sessions");
	add_option(&a, "--ro-bind", s->agent, "/sandlease-agent");
	add_option(&a, "--ro-bind-try", s->ws, "/sandlease-ws");
	/* after all others: bwrap makes their mount points in / */
	add_option(&a, "--remount-ro", "/", NULL);
	add_option(&a, "--chdir", "/", NULL);
	add_number(&a, "--info-fd", BWRAP_FD_INFO, NULL);
	add_agent(&a, s);
	*out = a;
	a = (struct bwrap_argv){ 0 };
	return 0;
}

void
bwrap_argv_own(struct bwrap_argv *a, const char *path, int go_fd,
    bool may_fall_back)
{
	auto_argv struct bwrap_argv own = { 0 };
	struct bwrap_argv bwrap = *a;

	add_word(&own, path);
	add_number(&own, "--go-fd", go_fd, NULL);
	if (may_fall_back)
		add_option(&own, "--else", bwrap.v[0], NULL);
	for (size_t i = 1; i < bwrap.count; i++)
		add_word(&own, bwrap.v[i]);
	*a = own;
	own = bwrap;
}

void
bwrap_argv_free(struct bwrap_argv *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->v[i]);
	free(a->v);
	*a = (struct bwrap_argv){ 0 };
}
