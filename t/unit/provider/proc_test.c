/* proc_test.c: tests which processes count as alive, and which are killed. */
#include "../unit.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/err.h"
#include "provider/host/proc.h"

#define works(call)                                                            \
	do {                                                                   \
		if ((call) < 0)                                                \
			fail_msg("%s: %s", #call, e.msg);                      \
	} while (0)

static pid_t
begin(void)
{
	pid_t pid = fork();

	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the test */
		for (;;)
			pause();
	}
	assert_true(pid > 0);
	return pid;
}

static void
a_process_is_its_number_and_its_start(void **state)
{
	struct err e = { 0 };
	struct proc p, later;
	pid_t pid = begin();
	bool lives;

	(void)state;
	works(proc_find(pid, &p, &e));
	assert_int_equal(p.pid, pid);
	works(proc_lives(&p, &lives, &e));
	assert_true(lives);
	later = p;
	later.start++;
	works(proc_lives(&later, &lives, &e));
	assert_false(lives);
	works(proc_kill(&later, &e));
	assert_int_equal(waitpid(pid, NULL, WNOHANG), 0);
	works(proc_kill(&p, &e));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	works(proc_kill(&p, &e));
}

/* A zombie's parent may never wait for it. */
static void
a_zombie_is_absent(void **state)
{
	struct err e = { 0 };
	siginfo_t info;
	struct proc p, now;
	pid_t pid = begin();
	bool lives;

	(void)state;
	works(proc_find(pid, &p, &e));
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	works(proc_find(pid, &now, &e));
	assert_int_equal(now.pid, 0);
	works(proc_lives(&p, &lives, &e));
	assert_false(lives);
	works(proc_child(&(struct proc){ .pid = getpid() }, &now, &e));
	assert_int_equal(now.pid, 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void
a_child_is_found_by_its_parent(void **state)
{
	struct err e = { 0 };
	struct proc found, none;
	pid_t pid = begin();

	(void)state;
	works(proc_child(&(struct proc){ .pid = getpid() }, &found, &e));
	assert_int_equal(found.pid, pid);
	works(proc_child(&found, &none, &e));
	assert_int_equal(none.pid, 0);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_is_its_number_and_its_start),
		cmocka_unit_test(a_zombie_is_absent),
		cmocka_unit_test(a_child_is_found_by_its_parent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
