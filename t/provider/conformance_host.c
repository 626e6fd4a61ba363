/* conformance_host.c: what only a host can show. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/box.h"
#include "provider/file.h"
#include "provider/local.h"

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

/* One descriptor, as readlink shows it, against what may be there. */
static bool
is_allowed(const char *target, const char *const *allowed, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(target, allowed[i]) != NULL)
			return true;
	return false;
}

/* False when bwrap has a descriptor, target, that it should not have. */
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

/* bwrap closes what it inherited after it has let init go on. */
static void
check_bwrap(const struct sandbox_spec *s)
{
	auto_free char *dir =
	    xasprintf("/proc/%d/fd", (int)recorded(s->id, "bwrap"));
	char target[SUITE_PATH_MAX];

	for (int64_t end = soon(); !bwrap_is_clean(dir, target);) {
		if (clock_left_ms(end) == 0)
			fail_msg("bwrap has %s", target);
		usleep(1000); /* wait: polls, the limit is SOON_MS */
	}
}

/* An agent of our own, since nobody may look into the real one. */
static void
use_agent(const char *script)
{
	auto_free char *path = xasprintf("%s/agent", CONF.run_dir);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fputs(script, f);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
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
	/* what a worker has: its socket at 0, anything anywhere */
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
	assert_string_equal(E.code, "start_failed");
	assert_string_equal(E.msg, "the sandbox could not be started: no luck");
	control = local_control_path(&P, s.id, s.incarnation);
	assert_int_equal(access(control, F_OK), -1);
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	/* nobody can tell what it did before it died: it does not come back */
	refuses(P.ops->ensure(&P, &s, soon(), &E), "stale_incarnation");
	s = after(&s);
	str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), "/nonexistent");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_non_null(strstr(E.msg, "exec /nonexistent: No such file"));
	CONF = before;
	s = after(&s);
	str_copy(s.rootfs, sizeof(s.rootfs), "/nonexistent");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_string_equal(E.code, "no_rootfs");
	s = after(&s);
	s.rootfs[0] = '\0';
	ensure(&s);
	destroy(&s);
}

/* A bwrap that begins when somebody writes to the fifo `gate`. */
static void
use_slow_bwrap(int *gate)
{
	auto_free char *fifo = xasprintf("%s/gate", CONF.run_dir);
	auto_free char *path = xasprintf("%s/slow-bwrap", CONF.run_dir);
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	fprintf(f, "#!/bin/sh\nread go <%s\nexec %s \"$@\"\n", fifo,
	    CONF.bwrap_path);
	fclose(f);
	assert_int_equal(chmod(path, 0755), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	*gate = open(fifo, O_RDWR | O_CLOEXEC);
	assert_true(*gate >= 0);
	str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), path);
}

static void
a_start_that_is_slow_may_come_yet(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct conf before = CONF;
	int gate;

	(void)state;
	use_slow_bwrap(&gate);
	/* wait: the gate is shut, so it ends by its deadline on any machine */
	assert_int_equal(P.ops->ensure(&P, &s, clock_ms() + 200, &E), -1);
	CONF = before;
	assert_string_equal(E.code, "timed_out");
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
	assert_int_equal(kill(recorded(s.id, "bwrap"), SIGSTOP), 0);
	destroy(&s);
}

/* The groups this sandbox was started in. */
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

/* Somebody has removed our state directory and not what it was about. */
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
		str_copy(s.incarnation, sizeof(s.incarnation), "");
		destroy(&s);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
	}
	assert_false(is_listed(&P, s.id, &seen));
}

/* Changes one member of the record of processes. */
static void
set_recorded(const char *id, const char *member, json_t *value)
{
	auto_free char *path = xasprintf("%s/box/%s/proc", CONF.state_dir, id);
	auto_json json_t *v = recorded_procs(id);

	json_object_set_new(v, member, value);
	assert_int_equal(json_dump_file(v, path, 0), 0);
}

static int64_t
my_start(void)
{
	struct proc me;

	works(proc_find(getpid(), &me, &E));
	return me.start;
}

static void
a_sandbox_of_another_boot_is_stopped(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	ensure(&s);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	/* a process that lives, but for the boot */
	set_recorded(s.id, "init", json_integer(getpid()));
	set_recorded(s.id, "initStart", json_integer(my_start()));
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	/* or another one that has its number now */
	set_recorded(s.id, "initStart", json_integer(my_start() + 1));
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	set_recorded(s.id, "initStart", json_integer(my_start()));
	set_recorded(s.id, "bootId", json_string("another"));
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	destroy(&s);
}

/* The numbers of daemons are often the same after a reboot. */
static void
a_process_of_this_boot_is_not_killed_for_another_s(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);
	auto_box struct box b = BOX_CLOSED;
	struct proc innocent;
	pid_t pid;
	int lock;

	(void)state;
	ensure(&s);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	pid = fork();
	if (pid == 0)
		for (;;)
			pause();
	works(proc_find(pid, &innocent, &E));
	set_recorded(s.id, "init", json_integer(pid));
	set_recorded(s.id, "initStart", json_integer(innocent.start));
	set_recorded(s.id, "bootId", json_string("another"));
	works(box_open(&P, s.id, &b, &E));
	lock = box_hold(&b, soon(), &E);
	assert_true(lock >= 0);
	/* wait: the lock is held all the while, so it ends by its deadline */
	refuses(P.ops->destroy(&P, s.id, s.incarnation, clock_ms() + 20, &E),
	    "sandbox_busy");
	/* whoever holds it, it may run: that is for its own incarnation */
	refuses(P.ops->stop(&P, s.id, next.incarnation, soon(), &E),
	    "stale_incarnation");
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	close(lock);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	destroy(&s);
}

/* Whoever holds it may be about to die: only time can tell. */
static void
a_lock_without_an_owner_is_waited_for(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_box struct box b = BOX_CLOSED;
	int lock;
	pid_t pid;

	(void)state;
	ensure(&s);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	works(box_open(&P, s.id, &b, &E));
	lock = box_hold(&b, soon(), &E);
	assert_true(lock >= 0);
	pid = fork();
	if (pid == 0) {
		/* wait: so that it is met; where it is not, all is well */
		usleep(50000);
		_exit(0);
	}
	close(lock);
	destroy(&s);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
of_what_is_destroyed_a_tombstone_is_left(void **state)
{
	static const char *const KEPT[] = { "incarnation", "label", "lock" };
	struct sandbox_spec s = a_sandbox();
	auto_free char *path = NULL;
	auto_names char **names = NULL;

	(void)state;
	ensure(&s);
	destroy(&s);
	path = xasprintf("%s/box/%s", CONF.state_dir, s.id);
	works(file_names(AT_FDCWD, path, &names, &E));
	for (char **n = names; *n != NULL; n++)
		if (!is_allowed(*n, KEPT, ARRAY_LEN(KEPT)))
			fail_msg("%s is left", *n);
}

/* Its starter died before bwrap had told init's pid. */
static void
init_is_found_by_its_bwrap(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct proc init;
	bool lives;

	(void)state;
	ensure(&s);
	works(proc_find(recorded(s.id, "init"), &init, &E));
	set_recorded(s.id, "init", json_integer(0));
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	destroy(&s);
	works(proc_lives(&init, &lives, &E));
	assert_false(lives);
}

static void
a_sandbox_lives_without_its_bwrap(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	ensure(&s);
	assert_int_equal(kill(recorded(s.id, "bwrap"), SIGKILL), 0);
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	works(ping(&s, &E));
	ensure(&s);
	destroy(&s);
}

/* The lock alone tells that somebody is there; who, nobody knows. */
static void
a_lost_record_is_not_an_absence(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_free char *path = NULL, *text = NULL;
	enum presence seen;

	(void)state;
	ensure(&s);
	path = xasprintf("%s/box/%s/proc", CONF.state_dir, s.id);
	text = xasprintf("%s.away", path);
	assert_int_equal(rename(path, text), 0);
	seen = presence(s.id);
	assert_true(seen == PRESENCE_RUNNING || seen == PRESENCE_UNKNOWN);
	if (seen == PRESENCE_UNKNOWN)
		assert_int_equal(P.ops->destroy(&P, s.id, s.incarnation,
				     /* wait: whose end it is, nobody knows */
				     clock_ms() + 20, &E),
		    -1);
	assert_int_equal(rename(text, path), 0);
	destroy(&s);
}

/* Puts something in the place of a note, and the note back. */
static void
spoil(const struct box *b, const char *note)
{
	assert_int_equal(renameat(b->dir, note, b->dir, "away"), 0);
	works(file_write(b->dir, note, "{", &E));
}

static void
mend(const struct box *b, const char *note)
{
	assert_int_equal(renameat(b->dir, "away", b->dir, note), 0);
}

static void
one_that_cannot_be_read_is_listed_as_unknown(void **state)
{
	struct sandbox_spec s = a_sandbox(), other = a_sandbox();
	auto_box struct box b = BOX_CLOSED;
	struct sandbox_seen seen;
	bool gone;

	(void)state;
	ensure(&s);
	ensure(&other);
	works(box_open(&P, s.id, &b, &E));
	spoil(&b, "incarnation");
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_UNKNOWN);
	assert_true(is_listed(&P, other.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_RUNNING);
	mend(&b, "incarnation");
	/* nor is a session gone from a group that cannot be found */
	spoil(&b, "cgroup");
	assert_int_equal(
	    P.ops->cell_gone(&P, s.id, "aaaaaaaaaaaaaaaaaaaa", &gone, &E), -1);
	mend(&b, "cgroup");
	destroy(&s);
	destroy(&other);
}

/* It becomes a part of a socket's name. */
static void
an_incarnation_is_made_of_letters(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	str_copy(s.incarnation, sizeof(s.incarnation), "../../../../../x");
	refuses(P.ops->ensure(&P, &s, soon(), &E), "bad_incarnation");
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
}

/* Also when the tombstone that refused it is no longer there. */
static void
an_ensure_past_its_time_starts_nothing(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	refuses(P.ops->ensure(&P, &s, clock_ms() - 1, &E), "timed_out");
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
	cmocka_unit_test(a_sandbox_of_another_boot_is_stopped),
	cmocka_unit_test(a_process_of_this_boot_is_not_killed_for_another_s),
	cmocka_unit_test(a_lock_without_an_owner_is_waited_for),
	cmocka_unit_test(of_what_is_destroyed_a_tombstone_is_left),
	cmocka_unit_test(what_is_frozen_is_killed_too),
	cmocka_unit_test(a_group_without_a_directory_is_found),
	cmocka_unit_test(init_is_found_by_its_bwrap),
	cmocka_unit_test(a_sandbox_lives_without_its_bwrap),
	cmocka_unit_test(a_lost_record_is_not_an_absence),
	cmocka_unit_test(one_that_cannot_be_read_is_listed_as_unknown),
	cmocka_unit_test(an_incarnation_is_made_of_letters),
	cmocka_unit_test(an_ensure_past_its_time_starts_nothing),
	{ 0 },
};
