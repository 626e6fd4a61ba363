/*
 * conformance_launcher.c: compares the sandboxes that bwrap and sandlease-launch
 * make, from inside.
 *
 * bwrap is the judge.  Both get the same command line; a probe takes the agent's
 * place and says what it finds.  Each difference must be in DIFFERENCES.
 */
#include "suite.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"

enum { LOG_MAX = 256 * 1024, LINES_MAX = 2048 };

/* A line that only one of the two says. */
struct difference {
	const char *bwrap, *own; /* how the lines begin; NULL: says nothing */
	const char *why;
	bool seen;
};

static struct difference DIFFERENCES[] = {
	{ "mount /newroot / ro,nosuid,nodev,relatime - tmpfs tmpfs",
	    "mount / / ro,nosuid,nodev,relatime - tmpfs tmpfs",
	    "bwrap's root is a directory of a tmpfs, ours is all of it",
	    false },
	{ "loopback is up", "loopback is down",
	    "init needs no network; cells raise their own loopback", false },
	{ "owner of net: one above", "owner of net: own",
	    "the cell of a sandbox with one session lives in it", false },
	{ "path /etc/ssl mode 40700", "path /etc/ssl mode 40755",
	    "bwrap 0.8 makes parents private that it should not", false },
	{ "path /etc/sandlease mode 40700", "path /etc/sandlease mode 40755",
	    "as above", false },
	{ "path /etc/sandlease/bin mode 40700",
	    "path /etc/sandlease/bin mode 40755", "as above", false },
};

/* The lines of one probe, sorted. */
struct said {
	char *line[LINES_MAX];
	size_t count;
};

static void
said_free(struct said *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->line[i]);
}

#define auto_said __attribute__((cleanup(said_free)))

/*
 * "file /proc/self/mountinfo: 65 42 0:40 /root /point options shared:1 - type
 * source super": the ids and the device are different each time.
 */
static char *
mount_fact(const char *line)
{
	const char *at = strchr(line, ':') + 2;

	for (int i = 0; i < 3; i++)
		at += strcspn(at, " ") + 1;
	return xasprintf("mount %s", at);
}

/* "namespace net net:[4026532183]": whether it is the host's. */
static char *
namespace_fact(const char *line)
{
	char name[32], target[64], host[64] = "";
	auto_free char *path = NULL;

	assert_int_equal(sscanf(line, "namespace %31s %63s", name, target), 2);
	path = xasprintf("/proc/self/ns/%s", name);
	assert_true(readlink(path, host, sizeof(host) - 1) > 0);
	return xasprintf("namespace %s is %s", name,
	    str_equal(host, target) ? "the host's" : "new");
}

static char *
fact(const char *line)
{
	if (str_starts(line, "file /proc/self/mountinfo: "))
		return mount_fact(line);
	if (str_starts(line, "namespace "))
		return namespace_fact(line);
	return xstrdup(line);
}

static int
compare_lines(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

/* Reads what the probe has written to the sandbox's log. */
static void
hear(const struct sandbox_spec *spec, struct said *out)
{
	auto_buf struct buf log = { 0 };
	bool ended = false;
	char *rest;

	works(P.ops->agent_log(&P, spec->id, LOG_MAX, &log, &E));
	rest = log.data;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		if (line[0] == '\0')
			continue;
		ended = str_equal(line, "end");
		assert_true(out->count < LINES_MAX);
		out->line[out->count++] = fact(line);
	}
	if (!ended)
		fail_msg("the probe was not heard to its end: %s", log.data);
	qsort(out->line, out->count, sizeof(out->line[0]), compare_lines);
}

/* Starts the same sandbox, with a probe in place of the agent. */
static void
probe(struct sandbox_spec *s, enum launcher launcher, struct said *out)
{
	struct conf before = CONF;
	const char *path = getenv("PROBE");

	assert_non_null(path);
	str_copy(CONF.agent_path, sizeof(CONF.agent_path), path);
	CONF.launcher = launcher;
	/* the probe exits, and takes the sandbox along */
	assert_int_equal(P.ops->ensure(&P, s, soon(), &E), -1);
	CONF = before;
	hear(s, out);
}

static bool
begins(const char *line, const char *with)
{
	return with != NULL && str_starts(line, with);
}

static struct difference *
known(const char *line, bool own)
{
	for (size_t i = 0; i < ARRAY_LEN(DIFFERENCES); i++)
		if (begins(line,
			own ? DIFFERENCES[i].own : DIFFERENCES[i].bwrap))
			return &DIFFERENCES[i];
	return NULL;
}

/* Returns how many differences have no name; prints them. */
static size_t
compare(const struct said *bwrap, const struct said *own)
{
	size_t i = 0, k = 0, unknown = 0;

	while (i < bwrap->count || k < own->count) {
		int order = i == bwrap->count ? 1
		    : k == own->count         ? -1
				      : strcmp(bwrap->line[i], own->line[k]);
		const char *line = order < 0 ? bwrap->line[i] : own->line[k];
		struct difference *d;

		i += order <= 0;
		k += order >= 0;
		if (order == 0)
			continue;
		d = known(line, order > 0);
		if (d != NULL) {
			d->seen = true;
			continue;
		}
		print_message("# only %s: %s\n", order < 0 ? "bwrap" : "own",
		    line);
		unknown++;
	}
	return unknown;
}

static void
compare_sandboxes(const struct sandbox_spec *like)
{
	auto_said struct said bwrap = { .count = 0 }, own = { .count = 0 };
	struct sandbox_spec s = *like;

	probe(&s, LAUNCHER_BWRAP, &bwrap);
	destroy(&s);
	s = after(&s);
	/* the same id, and so the same paths; the log begins anew */
	probe(&s, LAUNCHER_OWN, &own);
	destroy(&s);
	assert_true(bwrap.count > 100);
	assert_int_equal(compare(&bwrap, &own), 0);
}

static void
sandboxes_of_both_launchers_are_the_same(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	compare_sandboxes(&s);
	for (size_t i = 0; i < ARRAY_LEN(DIFFERENCES); i++)
		if (!DIFFERENCES[i].seen)
			fail_msg("no longer a difference: %s",
			    DIFFERENCES[i].bwrap);
}

static void
make_dir(const char *path)
{
	assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
}

/* A class's root file system with one of each kind. */
static void
use_rootfs(struct sandbox_spec *s)
{
	static const char *const DIRS[] = { "", "/usr", "/usr/bin", "/opt",
		"/etc", "/etc/ssl", "/etc/ssl/certs", "/var", "/root" };

	auto_free char *root = xasprintf("%s/rootfs", CONF.state_dir);

	assert_true(str_copy(s->rootfs, sizeof(s->rootfs), root));
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path = xasprintf("%s%s", s->rootfs, DIRS[i]);
		auto_free char *link = xasprintf("%s/bin", s->rootfs);

		make_dir(path);
		(void)!symlink("usr/bin", link);
	}
}

static void
so_are_those_with_a_root_file_system(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	use_rootfs(&s);
	compare_sandboxes(&s);
}

static void
so_are_those_with_a_writable_root(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	use_rootfs(&s);
	s.writable_root = true;
	compare_sandboxes(&s);
}

/* Makes mount_setattr() fail as in a kernel that does not have it. */
static bool
forget_mount_setattr(void)
{
	struct sock_filter program[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
		    offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mount_setattr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = { ARRAY_LEN(program), program };

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
}

static void
auto_uses_bwrap_on_a_kernel_that_lacks_a_call(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_free char *path = NULL;
	auto_buf struct buf name = { 0 };
	pid_t pid = fork();
	bool found;
	int status;

	(void)state;
	if (pid == 0) {
		CONF.launcher = LAUNCHER_AUTO;
		_exit(forget_mount_setattr() &&
			    P.ops->ensure(&P, &s, soon(), &E) == 0
			? 0
			: 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	works(ping(&s, &E));
	path = xasprintf("/proc/%d/comm", (int)recorded(s.id, "bwrap"));
	works(file_read(AT_FDCWD, path, 64, &found, &name, &E));
	assert_true(found);
	assert_string_equal(name.data, "bwrap\n");
	destroy(&s);
	/* asked for by name it is an error */
	s = after(&s);
	pid = fork();
	if (pid == 0)
		_exit(forget_mount_setattr() &&
			    P.ops->ensure(&P, &s, soon(), &E) < 0 &&
			    strstr(E.msg, "kernel lacks mount_setattr") != NULL
			? 0
			: 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	destroy(&s);
}

const struct CMUnitTest SUITE_LAUNCHER[] = {
	cmocka_unit_test(sandboxes_of_both_launchers_are_the_same),
	cmocka_unit_test(so_are_those_with_a_root_file_system),
	cmocka_unit_test(so_are_those_with_a_writable_root),
	cmocka_unit_test(auto_uses_bwrap_on_a_kernel_that_lacks_a_call),
	{ 0 },
};
