/* conformance_host.c: tests the effects of the local provider on its host. */
#include <fcntl.h>
#include <linux/fs.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/box/box.h"
#include "provider/host/file.h"
#include "provider/local/local.h"

static void
a_sandbox_outlives_whoever_started_it(void **state)
{
	struct sandbox_spec s = a_sandbox();
	int status;
	pid_t pid;

	(void)state;
	pid = fork();
	if (pid == 0) {
		if (P.ops->ensure(&P, &s, soon(), &E) == 0)
			raise(SIGKILL);
		_exit(1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	works(ping(&s, &E));
	destroy(&s);
}

static void
many_at_once_start_one_sandbox(void **state)
{
	enum { MANY = 8 };
	struct sandbox_spec s = a_sandbox();
	pid_t pid[MANY];
	int status;

	(void)state;
	for (int i = 0; i < MANY; i++) {

		pid[i] = fork();
		if (pid[i] == 0)
			_exit(P.ops->ensure(&P, &s, soon(), &E) < 0);
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(waitpid(pid[i], &status, 0), pid[i]);
		assert_int_equal(status, 0);
	}
	works(ping(&s, &E));
	destroy(&s);
}

/* Whether one descriptor, as readlink shows it, is in the list. */
static bool
is_allowed(const char *target, const char *const *allowed, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(target, allowed[i]) != NULL)
			return true;
	return false;
}

/* False when bwrap has a descriptor, `target`, that it should not have. */
static bool
bwrap_is_clean(const char *dir, char target[SUITE_PATH_MAX])
{
	static const char *const ALLOWED[] = { "/dev/null", "/agent.log",
		"anon_inode:" };
	auto_names char **names = NULL;

	works(file_names(AT_FDCWD, dir, &names, &E));
	assert_non_null(names[0]);
	for (char **n = names; *n != NULL; n++) {
		auto_free char *path = xasprintf("%s/%s", dir, *n);

		memset(target, 0, SUITE_PATH_MAX);
		if (readlink(path, target, SUITE_PATH_MAX - 1) > 0 &&
		    !is_allowed(target, ALLOWED, ARRAY_LEN(ALLOWED)))
			return false;
	}
	return true;
}

/* sandlease-launch ends when it is told that init's pid is recorded. */
static void
await_end_of_launcher(const struct sandbox_spec *s)
{
	struct proc launcher;
	int64_t end = soon();

	do {
		works(proc_find(recorded(s->id, "bwrap"), &launcher, &E));
		if (launcher.pid == 0)
			return;
		usleep(1000); /* wait: polls, the limit is SOON_MS */
	} while (clock_left_ms(end) > 0);
	fail_msg("sandlease-launch has not ended");
}

/* bwrap closes its inherited descriptors only after it has let init go on. */
static void
check_bwrap(const struct sandbox_spec *s)
{
	auto_free char *dir =
	    xasprintf("/proc/%d/fd", (int)recorded(s->id, "bwrap"));
	char target[SUITE_PATH_MAX];

	if (launches_itself()) {
		await_end_of_launcher(s);
		return;
	}
	for (int64_t end = soon(); !bwrap_is_clean(dir, target);) {
		if (clock_left_ms(end) == 0)
			fail_msg("bwrap has %s", target);
		usleep(1000); /* wait: polls, the limit is SOON_MS */
	}
}

static void
write_script(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
}

/* The path of sandlease-launch, which lies beside the agent. */
static char *
own_launcher(void)
{
	const char *slash = strrchr(CONF.agent_path, '/');

	return xasprintf("%.*s/sandlease-launch",
	    (int)(slash - CONF.agent_path), CONF.agent_path);
}

/* Uses a script as the agent, since the real one lets no process inspect it. */
static void
use_agent(const char *script)
{
	auto_free char *path = xasprintf("%s/agent", CONF.run_dir);
	auto_free char *own = own_launcher();
	auto_free char *link = xasprintf("%s/sandlease-launch", CONF.run_dir);

	write_script(path, script);
	(void)unlink(link);
	assert_int_equal(symlink(own, link), 0);
	str_copy(CONF.agent_path, sizeof(CONF.agent_path), path);
}

/* "lrwx------ 1 user user 64 Nov 15 02:25 3 -> socket:[123]" a line. */
static void
check_listing(const char *id)
{
	static const char *const ALLOWED[] = { "/dev/null", "agent.log",
		"socket:", "lock", "/proc/" };
	auto_buf struct buf log = { 0 };
	char *rest;
	int sockets = 0, locks = 0;

	works(P.ops->agent_log(&P, id, 4096, &log, &E));
	rest = log.data;
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		const char *target = strstr(line, " -> ");

		if (target == NULL)
			continue;
		if (!is_allowed(target, ALLOWED, ARRAY_LEN(ALLOWED)))
			fail_msg("init has %s", target);
		sockets += strstr(target, "socket:") != NULL;
		locks += strstr(target, "lock") != NULL;
	}
	assert_int_equal(sockets, 1);
	assert_int_equal(locks, 1);
}

static void
nothing_but_the_listed_descriptors_goes_in(void **state)
{
	struct sandbox_spec s = a_sandbox(), own = a_sandbox();
	struct conf before = CONF;
	int leak, pair[2];

	(void)state;
	/* as in a worker: its socket at 0, and any descriptor anywhere */
	assert_int_equal(pipe(pair), 0);
	leak = open("/etc/hostname", O_RDONLY);
	assert_int_equal(dup2(leak, 200), 200);
	assert_int_equal(dup2(pair[0], 0), 0);
	ensure(&s);
	check_bwrap(&s);
	use_agent("#!/bin/sh\nls -l /proc/self/fd >&2\nexit 1\n");
	assert_int_equal(P.ops->ensure(&P, &own, soon(), &E), -1);
	check_listing(own.id);
	CONF = before;
	close(200);
	close(leak);
	close(pair[0]);
	close(pair[1]);
	destroy(&own);
	destroy(&s);
}

static void
a_start_that_fails_says_why_and_leaves_nothing(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct conf before = CONF;
	auto_free char *control = NULL;

	(void)state;
	use_agent("#!/bin/sh\necho first >&2\necho 'no luck' >&2\nexit 1\n");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_code(E.code, CODE_START_FAILED);
	assert_string_equal(E.msg, "the sandbox could not be started: no luck");
	control = local_control_path(&P, s.id, s.incarnation);
	assert_int_equal(access(control, F_OK), -1);
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	/* its effects are unknown, so this incarnation does not come back */
	refuses(P.ops->ensure(&P, &s, soon(), &E), CODE_STALE_INCARNATION);
	s = after(&s);
	str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), "/nonexistent");
	str_copy(CONF.agent_path, sizeof(CONF.agent_path), "/nonexistent/a");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_non_null(strstr(E.msg,
	    launches_itself()
		? "exec /nonexistent/sandlease-launch: No such file"
		: "exec /nonexistent: No such file"));
	CONF = before;
	s = after(&s);
	str_copy(s.rootfs, sizeof(s.rootfs), "/nonexistent");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_code(E.code, CODE_NO_ROOTFS);
	s = after(&s);
	s.rootfs[0] = '\0';
	ensure(&s);
	destroy(&s);
}

bool
launches_itself(void)
{
	return CONF.launcher == LAUNCHER_OWN;
}

void
use_slow_launcher(int *gate)
{
	auto_free char *dir = xasprintf("%s/slow", CONF.run_dir);
	auto_free char *fifo = xasprintf("%s/gate", dir);
	auto_free char *agent = xasprintf("%s/agent", dir);
	auto_free char *path = xasprintf("%s/sandlease-launch", dir);
	auto_free char *own = own_launcher();
	auto_free char *script =
	    xasprintf("#!/bin/sh\nread go <%s\nexec %s \"$@\"\n", fifo,
		launches_itself() ? own : CONF.bwrap_path);

	(void)mkdir(dir, 0755);
	(void)unlink(fifo);
	(void)unlink(agent);
	write_script(path, script);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	*gate = open(fifo, O_RDWR | O_CLOEXEC);
	assert_true(*gate >= 0);
	assert_int_equal(symlink(CONF.agent_path, agent), 0);
	if (launches_itself())
		str_copy(CONF.agent_path, sizeof(CONF.agent_path), agent);
	else
		str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), path);
}

static void
a_start_that_is_slow_may_come_yet(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct conf before = CONF;
	int gate;

	(void)state;
	use_slow_launcher(&gate);
	/* wait: the gate is shut, so its deadline ends it on any machine */
	assert_int_equal(P.ops->ensure(&P, &s, clock_ms() + 200, &E), -1);
	CONF = before;
	assert_code(E.code, CODE_TIMED_OUT);
	assert_int_equal(write(gate, "\n", 1), 1);
	ensure(&s);
	works(ping(&s, &E));
	destroy(&s);
	close(gate);
}

static void
a_stopped_process_is_killed_too(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	ensure(&s);
	assert_int_equal(kill(recorded(s.id, "init"), SIGSTOP), 0);
	if (!launches_itself())
		assert_int_equal(kill(recorded(s.id, "bwrap"), SIGSTOP), 0);
	destroy(&s);
}

/* The cgroups in which this sandbox was started. */
static struct cgroup_tree
groups_of(const char *id)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree t;

	works(box_open(&P, id, &b, &E));
	works(box_cgroups(&P, &b, &t, &E));
	return t;
}

static void
what_is_frozen_is_killed_too(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct cgroup_tree t;

	(void)state;
	ensure(&s);
	t = groups_of(s.id);
	for (size_t i = 0; i < t.count; i++) {
		auto_free char *dir = xasprintf("%s/box/%s", t.at[i].dir, s.id);

		works(t.ops->freeze(dir, true, &E));
	}
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	destroy(&s);
}

/* Moves a process from init's group into a session's, where it counts, too. */
static void
move_into_cell(const struct cgroup_tree *t, const struct sandbox_spec *s,
    pid_t pid)
{
	static const char SESSION[] = "aaaaaaaaaaaaaaaaaaaa";
	int fds[PROVIDER_CELL_FDS_MAX];
	char text[16];
	size_t count;

	works(cgroup_cell_open(t, s->id, SESSION, s, fds, &count, &E));
	snprintf(text, sizeof(text), "%d", (int)pid);
	for (size_t i = 0; i < count; i++) {
		assert_true(write(fds[i], text, strlen(text)) > 0);
		close(fds[i]);
	}
}

/* The cgroup of a sandbox is there, but its state directory was removed. */
static void
a_group_without_a_directory_is_found(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct sandbox_seen seen;
	struct cgroup_tree t;

	(void)state;
	works(cgroup_find(CONF.cgroup_root, &t, &E));
	works(cgroup_make(&t, s.id, &s, &E));
	if (t.count > 0) {
		pid_t pid = fork();

		if (pid == 0) {
			if (cgroup_enter(&t, s.id, &E) < 0)
				_exit(1);
			for (;;)
				pause();
		}
		while (presence(s.id) != PRESENCE_RUNNING)
			assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
		assert_true(is_listed(&P, s.id, &seen));
		assert_int_equal(seen.presence, PRESENCE_RUNNING);
		assert_string_equal(seen.incarnation, "");
		move_into_cell(&t, &s, pid);
		assert_int_equal(presence(s.id), PRESENCE_RUNNING);
		str_copy(s.incarnation, sizeof(s.incarnation), "");
		destroy(&s);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_false(is_listed(&P, s.id, &seen));
}

/* The flags that chattr changes, of a directory in state_dir; 0 where there are none. */
static int
flags_of(const char *name)
{
	auto_free char *path = xasprintf("%s/%s", CONF.state_dir, name);
	auto_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int flags = 0;

	assert_true(fd >= 0);
	(void)!ioctl(fd, FS_IOC_GETFLAGS, &flags);
	return flags;
}

/* Whether this file system takes the flag, is tried on a directory that is nobody's. */
static bool
can_place_apart(void)
{
	auto_free char *path = xasprintf("%s/tried", CONF.state_dir);
	auto_fd int fd = -1;
	int flags;
	bool can;

	assert_int_equal(mkdir(path, 0700), 0);
	flags = flags_of("tried") | FS_TOPDIR_FL;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	can = ioctl(fd, FS_IOC_SETFLAGS, &flags) == 0;
	assert_int_equal(rmdir(path), 0);
	return can;
}

/* The files of one sandbox do not make it slow to make another one's. */
static void
sandboxes_lie_apart_on_the_disk(void **state)
{
	int expected = can_place_apart() ? FS_TOPDIR_FL : 0;

	(void)state;
	assert_int_equal(flags_of("box") & FS_TOPDIR_FL, expected);
	assert_int_equal(flags_of("storage") & FS_TOPDIR_FL, expected);
	assert_int_equal(flags_of("trash") & FS_TOPDIR_FL, 0);
}

/* cgroup_find() keeps its answer, but not longer than it is true. */
static void
groups_that_are_gone_are_not_found(void **state)
{
	auto_free char *setting = xasprintf("%s/x", CONF.cgroup_root);
	struct cgroup_tree all, t;

	(void)state;
	works(cgroup_find(CONF.cgroup_root, &all, &E));
	if (all.count == 0 || str_equal(CONF.cgroup_root, "auto"))
		return;
	refuses(cgroup_find(setting, &t, &E), CODE_NO_CGROUP);
	for (size_t i = 0; i < all.count; i++) {
		auto_free char *dir = xasprintf("%s/x", all.at[i].dir);

		assert_int_equal(mkdir(dir, 0755), 0);
	}
	for (int twice = 0; twice < 2; twice++) {
		works(cgroup_find(setting, &t, &E));
		assert_int_equal(t.count, all.count);
		assert_ptr_equal(t.ops, all.ops);
	}
	for (size_t i = 0; i < all.count; i++)
		assert_int_equal(rmdir(t.at[i].dir), 0);
	refuses(cgroup_find(setting, &t, &E), CODE_NO_CGROUP);
	works(cgroup_find(CONF.cgroup_root, &t, &E));
	assert_int_equal(t.count, all.count);
}

static void
a_sandbox_lives_without_its_bwrap(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	ensure(&s);
	if (launches_itself())
		await_end_of_launcher(&s);
	else
		assert_int_equal(kill(recorded(s.id, "bwrap"), SIGKILL), 0);
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	works(ping(&s, &E));
	ensure(&s);
	destroy(&s);
}

/* The incarnation becomes part of a socket's name. */
static void
an_incarnation_is_made_of_letters(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	str_copy(s.incarnation, sizeof(s.incarnation), "../../../../../x");
	refuses(P.ops->ensure(&P, &s, soon(), &E), CODE_BAD_INCARNATION);
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
}

/* A late ensure is refused by its deadline also when the tombstone is gone. */
static void
an_ensure_past_its_time_starts_nothing(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	refuses(P.ops->ensure(&P, &s, clock_ms() - 1, &E), CODE_TIMED_OUT);
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
	ensure(&s);
	destroy(&s);
}

const struct CMUnitTest SUITE_HOST[] = {
	cmocka_unit_test(a_sandbox_outlives_whoever_started_it),
	cmocka_unit_test(many_at_once_start_one_sandbox),
	cmocka_unit_test(nothing_but_the_listed_descriptors_goes_in),
	cmocka_unit_test(a_start_that_fails_says_why_and_leaves_nothing),
	cmocka_unit_test(a_start_that_is_slow_may_come_yet),
	cmocka_unit_test(a_stopped_process_is_killed_too),
	cmocka_unit_test(what_is_frozen_is_killed_too),
	cmocka_unit_test(a_group_without_a_directory_is_found),
	cmocka_unit_test(sandboxes_lie_apart_on_the_disk),
	cmocka_unit_test(groups_that_are_gone_are_not_found),
	cmocka_unit_test(a_sandbox_lives_without_its_bwrap),
	cmocka_unit_test(an_incarnation_is_made_of_letters),
	cmocka_unit_test(an_ensure_past_its_time_starts_nothing),
	{ 0 },
};
