/* conformance_records.c: tests the records that a host keeps of a sandbox. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/box/box.h"
#include "provider/host/file.h"

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
	/* the pid of a live process, but from another boot */
	set_recorded(s.id, "init", json_integer(getpid()));
	set_recorded(s.id, "initStart", json_integer(my_start()));
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	/* or the pid of another process that has this number now */
	set_recorded(s.id, "initStart", json_integer(my_start() + 1));
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	set_recorded(s.id, "initStart", json_integer(my_start()));
	set_recorded(s.id, "bootId", json_string("another"));
	assert_int_equal(presence(s.id), PRESENCE_STOPPED);
	destroy(&s);
}

/* Daemons often have the same pids after a reboot. */
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
	/* wait: the lock is held all the while, so this ends by its deadline */
	refuses(P.ops->destroy(&P, s.id, s.incarnation, clock_ms() + 20, &E),
	    CODE_SANDBOX_BUSY);
	/*
	 * the sandbox may run while its lock is held, and only its own
	 * incarnation may stop it
	 */
	refuses(P.ops->stop(&P, s.id, next.incarnation, soon(), &E),
	    CODE_STALE_INCARNATION);
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	close(lock);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	destroy(&s);
}

/* The process that holds the lock may be about to die: only time can tell. */
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
		/* wait: so that destroy meets the lock; if not, all is well */
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
		if (!str_equal(*n, KEPT[0]) && !str_equal(*n, KEPT[1]) &&
		    !str_equal(*n, KEPT[2]))
			fail_msg("%s is left", *n);
}

/* Starts a sandbox; its worker gives up before it has recorded init's pid. */
static void
ensure_unrecorded(const struct sandbox_spec *s)
{
	struct conf before = CONF;
	int gate;

	use_slow_launcher(&gate);
	/* wait: the gate is shut, so its deadline ends it on any machine */
	assert_int_equal(P.ops->ensure(&P, s, clock_ms() + 100, &E), -1);
	CONF = before;
	assert_int_equal(write(gate, "\n", 1), 1);
	ensure(s);
	close(gate);
}

/* The starting worker died before bwrap had reported init's pid. */
static void
init_is_found_by_its_bwrap(void **state)
{
	struct sandbox_spec s = a_sandbox();
	struct proc launcher, init;
	bool lives;

	(void)state;
	ensure_unrecorded(&s);
	assert_int_equal(recorded(s.id, "init"), 0);
	works(proc_find(recorded(s.id, "bwrap"), &launcher, &E));
	works(proc_child(&launcher, &init, &E));
	assert_true(init.pid > 0);
	assert_int_equal(presence(s.id), PRESENCE_RUNNING);
	destroy(&s);
	works(proc_lives(&init, &lives, &E));
	assert_false(lives);
	works(proc_lives(&launcher, &lives, &E));
	assert_false(lives);
}

/* The lock alone shows that a process runs, but not which one. */
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
				     /* wait: its processes are unknown */
				     clock_ms() + 20, &E),
		    -1);
	assert_int_equal(rename(text, path), 0);
	destroy(&s);
}

/* Puts a broken note in the place of a note; mend() puts the note back. */
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
	/* nor does a session count as gone when its group cannot be found */
	spoil(&b, "cgroup");
	assert_int_equal(
	    P.ops->cell_gone(&P, s.id, "aaaaaaaaaaaaaaaaaaaa", &gone, &E), -1);
	mend(&b, "cgroup");
	destroy(&s);
	destroy(&other);
}

const struct CMUnitTest SUITE_RECORDS[] = {
	cmocka_unit_test(a_sandbox_of_another_boot_is_stopped),
	cmocka_unit_test(a_process_of_this_boot_is_not_killed_for_another_s),
	cmocka_unit_test(a_lock_without_an_owner_is_waited_for),
	cmocka_unit_test(of_what_is_destroyed_a_tombstone_is_left),
	cmocka_unit_test(init_is_found_by_its_bwrap),
	cmocka_unit_test(a_lost_record_is_not_an_absence),
	cmocka_unit_test(one_that_cannot_be_read_is_listed_as_unknown),
	{ 0 },
};
