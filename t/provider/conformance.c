/*
 * conformance.c: one suite for every provider.
 *
 * conformance fake
 * conformance local CGROUP_ROOT     (AGENT and BWRAP in the environment)
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "provider/agent_link.h"
#include "provider/fake.h"
#include "provider/file.h"
#include "provider/provider.h"

enum { SOON_MS = 10000, PATH_SIZE = 256, HOST_TESTS = 6 };

static struct conf CONF;
static struct provider P;
static int NUMBER;

static int64_t
soon(void)
{
	return clock_ms() + SOON_MS;
}

static bool
is_local(void)
{
	return P.ops == &PROVIDER_LOCAL;
}

/* A sandbox of its own for each test, with limits nobody meets. */
static struct sandbox_spec
a_sandbox(void)
{
	struct sandbox_spec s = { .epoch = 10,
		.memory_mb = 256,
		.cpu_millis = 1000,
		.disk_mb = 64,
		.pids = 64 };
	auto_free char *session = xasprintf("session-%d", ++NUMBER);

	sandbox_id_derive(&(struct sandbox_owner){ .session = session }, true,
	    s.id);
	id_random(s.incarnation, ID_INCARNATION_LEN);
	return s;
}

/* The next start of the same sandbox. */
static struct sandbox_spec
after(const struct sandbox_spec *s)
{
	struct sandbox_spec next = *s;

	next.epoch++;
	id_random(next.incarnation, ID_INCARNATION_LEN);
	return next;
}

/* What the last call said. */
static struct err E;

#define works(call)                                                            \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s (%s)", #call, E.msg, E.code);         \
	} while (0)

#define refuses(call, word)                                                    \
	do {                                                                   \
		assert_int_equal((call), -1);                                  \
		assert_string_equal(E.code, (word));                           \
	} while (0)

static enum presence
presence(const char *id)
{
	struct sandbox_seen seen;

	works(P.ops->inspect(&P, id, &seen, &E));
	assert_string_equal(seen.id, id);
	return seen.presence;
}

static void
ensure(const struct sandbox_spec *s)
{
	works(P.ops->ensure(&P, s, soon(), &E));
	assert_int_equal(presence(s->id), PRESENCE_RUNNING);
}

static void
destroy(const struct sandbox_spec *s)
{
	works(P.ops->destroy(&P, s->id, s->incarnation, soon(), &E));
	assert_int_equal(presence(s->id), PRESENCE_ABSENT);
}

static int
ping(const struct sandbox_spec *s, struct err *e)
{
	char version[AGENT_VERSION_MAX];

	return agent_ping(&P, s->id, s->incarnation, version, soon(), e);
}

/* The host's pid of init or bwrap, from the record. */
static pid_t
recorded(const char *id, const char *who)
{
	auto_free char *path = xasprintf("%s/box/%s/proc", CONF.state_dir, id);
	auto_json json_t *v = json_load_file(path, 0, NULL);

	assert_non_null(v);
	return (pid_t)json_integer_value(json_object_get(v, who));
}

/* Kills init behind the provider's back and waits until that shows. */
static void
crash(const char *id)
{
	int64_t deadline = soon();

	if (!is_local()) {
		fake_crash(id);
		return;
	}
	assert_int_equal(kill(recorded(id, "init"), SIGKILL), 0);
	while (presence(id) == PRESENCE_RUNNING && clock_left_ms(deadline) > 0)
		usleep(1000);
}

static bool
is_listed(const struct provider *p, const char *id, struct sandbox_seen *out)
{
	struct sandbox_seen *all = NULL;
	size_t count;
	bool found = false;

	works(p->ops->list(p, &all, &count, &E));
	for (size_t i = 0; i < count; i++)
		if (str_equal(all[i].id, id)) {
			found = true;
			*out = all[i];
		}
	free(all);
	return found;
}

/* ---- sandboxes */

static void
an_unknown_sandbox_is_absent(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
}

static void
ensure_twice_is_one_sandbox(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct sandbox_seen seen;
	pid_t first = 0;

	(void)state;
	ensure(&s);
	if (is_local())
		first = recorded(s.id, "init");
	ensure(&s);
	if (is_local())
		assert_int_equal(recorded(s.id, "init"), first);
	works(P.ops->inspect(&P, s.id, &seen, &E));
	assert_string_equal(seen.incarnation, s.incarnation);
	works(ping(&s, &E));
	destroy(&s);
}

static void
a_legacy_id_is_kept_as_it_is(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct sandbox_seen seen;

	(void)state;
	str_copy(s.id, sizeof(s.id), "org/../1__user \xc3\xa9");
	ensure(&s);
	works(ping(&s, &E));
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_RUNNING);
	destroy(&s);
}

static void
a_late_ensure_of_an_older_start_is_refused(void **state)
{
	struct sandbox_spec old = a_sandbox(), s = after(&old);
	struct sandbox_spec older = old;

	(void)state;
	ensure(&s);
	refuses(P.ops->ensure(&P, &old, soon(), &E), "stale_incarnation");
	older.epoch = 1;
	refuses(P.ops->ensure(&P, &older, soon(), &E), "stale_incarnation");
	works(ping(&s, &E));
	destroy(&s);
}

static void
a_newer_start_replaces_what_runs(void **state)
{
	struct sandbox_spec old = a_sandbox(), s = after(&old);

	(void)state;
	ensure(&old);
	ensure(&s);
	works(ping(&s, &E));
	refuses(ping(&old, &E), "not_listening");
	refuses(P.ops->stop(&P, s.id, old.incarnation, soon(), &E),
	    "stale_incarnation");
	refuses(P.ops->destroy(&P, s.id, old.incarnation, soon(), &E),
	    "stale_incarnation");
	works(ping(&s, &E));
	destroy(&s);
}

static void
stop_keeps_the_files_and_ends_the_incarnation(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);

	(void)state;
	ensure(&s);
	for (int i = 0; i < 2; i++) {
		works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
		assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	}
	refuses(P.ops->ensure(&P, &s, soon(), &E), "stale_incarnation");
	ensure(&next);
	destroy(&next);
}

static void
destroy_twice_is_harmless_and_no_ensure_follows_it(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);

	(void)state;
	ensure(&s);
	destroy(&s);
	destroy(&s);
	refuses(P.ops->ensure(&P, &s, soon(), &E), "stale_incarnation");
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
	ensure(&next);
	destroy(&next);
}

/* Its intent was written, its worker slept, and somebody cleaned up. */
static void
an_ensure_that_comes_after_its_own_destroy_is_refused(void **state)
{
	struct sandbox_spec s = a_sandbox();

	(void)state;
	destroy(&s);
	refuses(P.ops->ensure(&P, &s, soon(), &E), "stale_incarnation");
	assert_int_equal(presence(s.id), PRESENCE_ABSENT);
}

static void
a_late_destroy_does_not_touch_the_files_of_a_newer_start(void **state)
{
	struct sandbox_spec old = a_sandbox(), s = after(&old);
	bool there;

	(void)state;
	ensure(&old);
	ensure(&s);
	works(P.ops->storage_make(&P, s.id, "aaaaaaaaaaaaaaaaaaaa", &E));
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	refuses(P.ops->destroy(&P, s.id, old.incarnation, soon(), &E),
	    "stale_incarnation");
	works(P.ops->storage_exists(&P, s.id, "aaaaaaaaaaaaaaaaaaaa", &there,
	    &E));
	assert_true(there);
	destroy(&s);
}

static void
a_crash_is_seen_and_its_incarnation_does_not_come_back(void **state)
{
	struct sandbox_spec s = a_sandbox(), next = after(&s);

	(void)state;
	ensure(&s);
	crash(s.id);
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	refuses(P.ops->ensure(&P, &s, soon(), &E), "stale_incarnation");
	ensure(&next);
	destroy(&next);
}

static void
a_list_has_what_is_ours_and_nothing_else(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct provider other = P;
	struct sandbox_seen seen;

	(void)state;
	ensure(&s);
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_RUNNING);
	assert_string_equal(seen.incarnation, s.incarnation);
	if (is_local()) {
		str_copy(other.installation, sizeof(other.installation), "b");
		assert_false(is_listed(&other, s.id, &seen));
		refuses(other.ops->destroy(&other, s.id, s.incarnation, soon(),
			    &E),
		    "not_ours");
	}
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	assert_true(is_listed(&P, s.id, &seen));
	assert_int_equal(seen.presence, PRESENCE_STOPPED);
	destroy(&s);
	assert_false(is_listed(&P, s.id, &seen));
}

static void
what_cannot_be_seen_is_not_absent(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_free char *boxes = xasprintf("%s/box", CONF.state_dir);
	struct sandbox_seen seen, *all = NULL;
	size_t count;
	int rc;

	(void)state;
	ensure(&s);
	if (is_local()) {
		assert_int_equal(chmod(boxes, 0), 0);
	} else {
		fake_script("inspect", FAKE_UNKNOWN, 1);
		fake_script("list", FAKE_FAIL, 1);
	}
	rc = P.ops->inspect(&P, s.id, &seen, &E);
	assert_true(rc < 0 || seen.presence == PRESENCE_UNKNOWN);
	assert_int_equal(P.ops->list(&P, &all, &count, &E), -1);
	if (is_local())
		assert_int_equal(chmod(boxes, 0700), 0);
	destroy(&s);
}

/* ---- storage */

static void
storage_outlives_the_sandbox_and_goes_with_destroy(void **state)
{
	static const char SESSION[] = "bbbbbbbbbbbbbbbbbbbb";
	struct sandbox_spec s = a_sandbox();
	bool there, left;

	(void)state;
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_false(there);
	works(P.ops->storage_drop(&P, s.id, SESSION, &E));
	works(P.ops->storage_make(&P, s.id, SESSION, &E));
	works(P.ops->storage_make(&P, s.id, SESSION, &E));
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	ensure(&s);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_true(there);
	works(P.ops->storage_drop(&P, s.id, SESSION, &E));
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_false(there);
	works(P.ops->storage_make(&P, s.id, SESSION, &E));
	destroy(&s);
	works(P.ops->storage_exists(&P, s.id, SESSION, &there, &E));
	assert_false(there);
	works(P.ops->sweep(&P, soon(), &left, &E));
	assert_false(left);
}

/* ---- cells */

static struct agent_target
a_target(const struct sandbox_spec *s)
{
	struct agent_target t = { .generation = 1 };

	str_copy(t.sandbox, sizeof(t.sandbox), s->id);
	str_copy(t.incarnation, sizeof(t.incarnation), s->incarnation);
	id_random(t.session, ID_SESSION_LEN);
	id_random(t.instance, ID_INSTANCE_LEN);
	works(P.ops->storage_make(&P, s->id, t.session, &E));
	return t;
}

static void
a_wrapper_is_launched_proved_seen_and_killed(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_launch l = { 0 };
	struct agent_sight sight;
	struct agent_target t;
	char path[PATH_SIZE];
	bool gone;

	(void)state;
	ensure(&s);
	t = a_target(&s);
	works(agent_look(&P, &t, 0, soon(), &sight, &E));
	assert_int_equal(sight.count, 0);
	works(agent_launch(&P, &s, &t, &l, soon(), &E));
	works(agent_prove(&P, &t, soon(), &E));
	agent_socket_path(&CONF, t.session, 1, 0, path, sizeof(path));
	assert_int_equal(access(path, F_OK), 0);
	refuses(agent_launch(&P, &s, &t, &l, soon(), &E), "already_running");
	assert_int_equal(access(path, F_OK), 0);
	works(agent_look(&P, &t, 0, soon(), &sight, &E));
	assert_int_equal(sight.count, 1);
	assert_string_equal(sight.wrapper[0].instance, t.instance);
	assert_int_equal(sight.wrapper[0].generation, 1);
	works(agent_kill(&P, &t, 5000, soon(), &sight, &E));
	assert_int_equal(sight.count, 0);
	works(P.ops->cell_gone(&P, s.id, t.session, &gone, &E));
	assert_true(gone);
	agent_unlink_sockets(&CONF, t.session, 1);
	assert_int_equal(access(path, F_OK), -1);
	destroy(&s);
}

static void
nothing_is_launched_after_a_seal(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_launch l = { 0 };
	struct agent_sight sight;
	struct agent_target t;
	char path[PATH_SIZE];

	(void)state;
	ensure(&s);
	t = a_target(&s);
	works(agent_seal(&P, &t, soon(), &sight, &E));
	assert_int_equal(sight.count, 0);
	refuses(agent_launch(&P, &s, &t, &l, soon(), &E), "stale_generation");
	agent_socket_path(&CONF, t.session, 1, 0, path, sizeof(path));
	assert_int_equal(access(path, F_OK), -1);
	t.generation = 2;
	works(agent_launch(&P, &s, &t, &l, soon(), &E));
	destroy(&s);
}

static void
a_cell_dies_with_its_sandbox(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct agent_launch l = { .ports = { 8080 }, .port_count = 1 };
	struct agent_target t;
	char path[PATH_SIZE];
	bool gone;

	(void)state;
	ensure(&s);
	t = a_target(&s);
	works(agent_launch(&P, &s, &t, &l, soon(), &E));
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	works(P.ops->cell_gone(&P, s.id, t.session, &gone, &E));
	assert_true(gone);
	if (is_local()) {
		agent_socket_path(&CONF, t.session, 1, 8080, path,
		    sizeof(path));
		assert_int_equal(access(path, F_OK), -1);
	}
	destroy(&s);
}

static void
limits_are_told_one_by_one(void **state)
{
	static const char *const NAMES[] = { "memoryMb", "cpuMillis", "diskMb",
		"pids" };
	struct sandbox_spec s = a_sandbox();
	auto_json json_t *limits = P.ops->limits(&P, &s);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		const json_t *l = json_object_get(limits, NAMES[i]);

		assert_true(
		    json_integer_value(json_object_get(l, "value")) > 0);
		assert_true(json_str(l, "by")[0] != '\0');
	}
}

/* ---- what only a host can show */

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
static void
check_fd(const char *who, const char *target, const char *const *allowed,
    size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (strstr(target, allowed[i]) != NULL)
			return;
	fail_msg("%s has %s", who, target);
}

static void
check_bwrap(const struct sandbox_spec *s)
{
	static const char *const ALLOWED[] = { "/dev/null", "/agent.log",
		"anon_inode:" };
	auto_free char *dir =
	    xasprintf("/proc/%d/fd", (int)recorded(s->id, "bwrap"));
	auto_names char **names = NULL;

	works(file_names(AT_FDCWD, dir, &names, &E));
	assert_non_null(names[0]);
	for (char **n = names; *n != NULL; n++) {
		auto_free char *path = xasprintf("%s/%s", dir, *n);
		char target[PATH_SIZE] = "";

		assert_true(readlink(path, target, sizeof(target) - 1) > 0);
		check_fd("bwrap", target, ALLOWED, ARRAY_LEN(ALLOWED));
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
		check_fd("init", target, ALLOWED, ARRAY_LEN(ALLOWED));
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

	(void)state;
	use_agent("#!/bin/sh\necho first >&2\necho 'no luck' >&2\nexit 1\n");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_string_equal(E.code, "start_failed");
	assert_string_equal(E.msg, "the sandbox could not be started: no luck");
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), "/nonexistent");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_non_null(strstr(E.msg, "exec /nonexistent: No such file"));
	CONF = before;
	str_copy(s.rootfs, sizeof(s.rootfs), "/nonexistent");
	assert_int_equal(P.ops->ensure(&P, &s, soon(), &E), -1);
	assert_string_equal(E.code, "no_rootfs");
	/* it never answered, so the same start may be tried again */
	s.rootfs[0] = '\0';
	ensure(&s);
	destroy(&s);
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

static void
a_sandbox_of_another_boot_is_stopped(void **state)
{
	struct sandbox_spec s = a_sandbox();
	auto_free char *path = NULL;
	auto_json json_t *v = NULL;

	(void)state;
	ensure(&s);
	works(P.ops->stop(&P, s.id, s.incarnation, soon(), &E));
	path = xasprintf("%s/box/%s/proc", CONF.state_dir, s.id);
	v = json_load_file(path, 0, NULL);
	assert_non_null(v);
	/* our own pid and start time would be found alive but for the boot */
	json_object_set_new(v, "bootId", json_string("another"));
	json_object_set_new(v, "init", json_integer(getpid()));
	assert_int_equal(json_dump_file(v, path, 0), 0);
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	destroy(&s);
}

static void
open_provider(int argc, char **argv)
{
	const char *dir = getenv("SANDLEASE_TEST_DIR");
	const char *agent = getenv("AGENT"), *bwrap = getenv("BWRAP");

	if (dir == NULL || argc < 2 || token_init(&E) < 0 ||
	    conf_parse("test", (char[]){ "" }, &CONF, &E) < 0)
		exit(2);
	snprintf(CONF.run_dir, sizeof(CONF.run_dir), "%s/r", dir);
	snprintf(CONF.state_dir, sizeof(CONF.state_dir), "%s/st", dir);
	if (agent != NULL)
		str_copy(CONF.agent_path, sizeof(CONF.agent_path), agent);
	if (bwrap != NULL)
		str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), bwrap);
	str_copy(CONF.cgroup_root, sizeof(CONF.cgroup_root),
	    argc > 2 ? argv[2] : "none");
	if (provider_open(argv[1], &CONF, "a", &P, &E) < 0) {
		printf("Bail out! %s\n", E.msg);
		exit(1);
	}
}

int
main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_unknown_sandbox_is_absent),
		cmocka_unit_test(ensure_twice_is_one_sandbox),
		cmocka_unit_test(a_legacy_id_is_kept_as_it_is),
		cmocka_unit_test(a_late_ensure_of_an_older_start_is_refused),
		cmocka_unit_test(a_newer_start_replaces_what_runs),
		cmocka_unit_test(stop_keeps_the_files_and_ends_the_incarnation),
		cmocka_unit_test(
		    destroy_twice_is_harmless_and_no_ensure_follows_it),
		cmocka_unit_test(
		    an_ensure_that_comes_after_its_own_destroy_is_refused),
		cmocka_unit_test(
		    a_late_destroy_does_not_touch_the_files_of_a_newer_start),
		cmocka_unit_test(
		    a_crash_is_seen_and_its_incarnation_does_not_come_back),
		cmocka_unit_test(a_list_has_what_is_ours_and_nothing_else),
		cmocka_unit_test(what_cannot_be_seen_is_not_absent),
		cmocka_unit_test(
		    storage_outlives_the_sandbox_and_goes_with_destroy),
		cmocka_unit_test(a_wrapper_is_launched_proved_seen_and_killed),
		cmocka_unit_test(nothing_is_launched_after_a_seal),
		cmocka_unit_test(a_cell_dies_with_its_sandbox),
		cmocka_unit_test(limits_are_told_one_by_one),
		/* only where there is a host */
		cmocka_unit_test(a_sandbox_outlives_whoever_started_it),
		cmocka_unit_test(many_at_once_start_one_sandbox),
		cmocka_unit_test(nothing_but_the_listed_descriptors_goes_in),
		cmocka_unit_test(
		    a_start_that_fails_says_why_and_leaves_nothing),
		cmocka_unit_test(a_stopped_process_is_killed_too),
		cmocka_unit_test(a_sandbox_of_another_boot_is_stopped),
	};

	open_provider(argc, argv);
	return _cmocka_run_group_tests(argv[1], tests,
	    is_local() ? ARRAY_LEN(tests) : ARRAY_LEN(tests) - HOST_TESTS, NULL,
	    NULL);
}
