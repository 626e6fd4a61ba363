/*
 * conformance.c: one suite for every provider.
 *
 * conformance fake
 * conformance local CGROUP_ROOT     (AGENT and BWRAP in the environment)
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../lib/fake/fake.h"
#include "suite.h"

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "provider/choose/choose.h"
#include "provider/host/file.h"
#include "provider/local/local.h"

/* wait: a limit against hanging, not a measured time */
enum { SOON_MS = 120 * 1000, TESTS_MAX = 96 };

struct conf CONF;
struct provider P;
struct err E;
static int NUMBER;

int64_t
soon(void)
{
	return clock_ms() + SOON_MS;
}

bool
is_local(void)
{
	return P.ops == &PROVIDER_LOCAL;
}

struct sandbox_spec
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

struct sandbox_spec
after(const struct sandbox_spec *s)
{
	struct sandbox_spec next = *s;

	next.epoch++;
	id_random(next.incarnation, ID_INCARNATION_LEN);
	return next;
}

enum presence
presence(const char *id)
{
	struct sandbox_seen seen;

	works(P.ops->inspect(&P, id, &seen, &E));
	assert_string_equal(seen.id, id);
	return seen.presence;
}

void
ensure(const struct sandbox_spec *s)
{
	works(P.ops->ensure(&P, s, soon(), &E));
	assert_int_equal(presence(s->id), PRESENCE_RUNNING);
}

void
destroy(const struct sandbox_spec *s)
{
	works(P.ops->destroy(&P, s->id, s->incarnation, soon(), &E));
	assert_int_equal(presence(s->id), PRESENCE_ABSENT);
}

int
ping(const struct sandbox_spec *s, struct err *e)
{
	char version[AGENT_VERSION_MAX];

	return agent_ping(&P, s->id, s->incarnation, version, soon(), e);
}

json_t *
recorded_procs(const char *id)
{
	auto_free char *path = xasprintf("%s/box/%s/proc", CONF.state_dir, id);
	auto_buf struct buf text = { 0 };
	json_t *v;

	works(file_last_note(AT_FDCWD, path, 4096, &text, &E));
	v = json_loadb(text.data, text.len, 0, NULL);
	assert_non_null(v);
	return v;
}

pid_t
recorded(const char *id, const char *who)
{
	auto_json json_t *v = recorded_procs(id);

	return (pid_t)json_integer_value(json_object_get(v, who));
}

void
crash(const char *id)
{
	int64_t deadline = soon();

	if (!is_local()) {
		fake_crash(id);
		return;
	}
	assert_int_equal(kill(recorded(id, "init"), SIGKILL), 0);
	while (presence(id) == PRESENCE_RUNNING && clock_left_ms(deadline) > 0)
		usleep(1000); /* wait: polls, the limit is SOON_MS */
}

bool
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

static void
open_provider(int argc, char **argv)
{
	const char *dir = getenv("SANDLEASE_TEST_DIR");
	const char *agent = getenv("AGENT"), *bwrap = getenv("BWRAP");
	const char *launcher = getenv("LAUNCHER");

	if (dir == NULL || argc < 2 || token_init(&E) < 0 ||
	    conf_parse("test", (char[]){ "" }, &CONF, &E) < 0)
		exit(2);
	snprintf(CONF.run_dir, sizeof(CONF.run_dir), "%s/r", dir);
	snprintf(CONF.state_dir, sizeof(CONF.state_dir), "%s/st", dir);
	if (agent != NULL)
		str_copy(CONF.agent_path, sizeof(CONF.agent_path), agent);
	if (bwrap != NULL)
		str_copy(CONF.bwrap_path, sizeof(CONF.bwrap_path), bwrap);
	CONF.launcher = launcher != NULL && str_equal(launcher, "bwrap")
	    ? LAUNCHER_BWRAP
	    : LAUNCHER_OWN;
	str_copy(CONF.cgroup_root, sizeof(CONF.cgroup_root),
	    argc > 2 ? argv[2] : "none");
	if ((str_equal(argv[1], "fake")
		    ? provider_open_ops(&PROVIDER_FAKE, &CONF, "a", &P, &E)
		    : provider_open(argv[1], &CONF, "a", &P, &E)) < 0) {
		printf("Bail out! %s\n", E.msg);
		exit(1);
	}
}

/* Ends the sandboxes of a failed test, so that none outlives the suite. */
static int
end_all(void **state)
{
	struct sandbox_seen *all = NULL;
	size_t count = 0;

	(void)state;
	if (P.ops->list(&P, &all, &count, &E) < 0)
		return -1;
	for (size_t i = 0; i < count; i++)
		(void)!P.ops->destroy(&P, all[i].id, all[i].incarnation, soon(),
		    &E);
	free(all);
	fake_reset();
	return 0;
}

static size_t
append(struct CMUnitTest *to, size_t count, const struct CMUnitTest *part)
{
	for (; part->name != NULL; part++) {
		if (count == TESTS_MAX)
			abort();
		to[count++] = *part;
	}
	return count;
}

int
main(int argc, char **argv)
{
	struct CMUnitTest tests[TESTS_MAX];
	size_t count = 0;

	open_provider(argc, argv);
	count = append(tests, count, SUITE_BOXES);
	count = append(tests, count, SUITE_CELLS);
	count = append(tests, count, SUITE_DISK);
	count = append(tests, count, SUITE_SNAPSHOTS);
	count = append(tests, count, SUITE_USAGE);
	if (is_local()) {
		count = append(tests, count, SUITE_WORK);
		count = append(tests, count, SUITE_RUNS);
		count = append(tests, count, SUITE_HOST);
		count = append(tests, count, SUITE_RECORDS);
		count = append(tests, count, SUITE_JOBS);
		if (launches_itself())
			count = append(tests, count, SUITE_LAUNCHER);
	}
	return _cmocka_run_group_tests(argv[1], tests, count, NULL, end_all);
}
