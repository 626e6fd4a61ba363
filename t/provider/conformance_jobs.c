/* conformance_jobs.c: tests jobs on the host, their limits and their owners. */
#include "suite.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/store/job.h"

enum { TEXT_MAX = 64 * 1024 };

static const char OWNER[] = "00000000000000000000000000000001";
static const char OTHER[] = "00000000000000000000000000000002";

/* A job that unpacks an archive for as long as `to` is open. */
struct receiving {
	char dir[SUITE_PATH_MAX];
	int to, ended;
};

static int
begin(struct receiving *r, const char *owner, int64_t deadline_ms)
{
	auto_free char *home =
	    xasprintf("%s/snapshots/%s", CONF.state_dir, owner);
	auto_fd int dir = file_dir(AT_FDCWD, home, 0700, &E);
	auto_fd int from = -1;
	char id[ID_MAX];
	int ends[2], rc;

	assert_true(dir >= 0);
	id_random(id, ID_SESSION_LEN);
	snprintf(r->dir, sizeof(r->dir), "%s/%s", home, id);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	from = ends[0];
	r->to = ends[1];
	rc = job_begin(&P, r->dir,
	    &(struct job){ .owner = owner,
		.words = { "receive", "1000000", "60" },
		.to = "files",
		.in = from },
	    deadline_ms, &r->ended, &E);
	if (rc < 0)
		mem_close_fd(&r->to);
	return rc;
}

static void
end(struct receiving *r)
{
	struct job_seen seen;

	mem_close_fd(&r->to);
	works(job_wait(r->dir, r->ended, soon(), &seen, &E));
	assert_int_not_equal(seen.state, JOB_RUNS);
	mem_close_fd(&r->ended);
}

static void
an_owner_has_few_at_once_and_another_has_its_own(void **state)
{
	struct receiving all[JOB_SLOTS], more, other;

	(void)state;
	for (size_t i = 0; i < JOB_SLOTS; i++)
		works(begin(&all[i], OWNER, soon()));
	refuses(begin(&more, OWNER, clock_ms()), CODE_JOBS_BUSY);
	works(begin(&other, OTHER, clock_ms()));
	end(&other);
	end(&all[0]);
	works(begin(&more, OWNER, soon()));
	end(&more);
	for (size_t i = 1; i < JOB_SLOTS; i++)
		end(&all[i]);
}

/* The soft limit, as the kernel prints it. */
static int64_t
limit_of(int64_t pid, const char *name)
{
	auto_free char *path = xasprintf("/proc/%lld/limits", (long long)pid);
	auto_buf struct buf text = { 0 };
	const char *line;
	bool found;

	works(file_read(AT_FDCWD, path, TEXT_MAX, &found, &text, &E));
	assert_true(found);
	line = strstr(text.data, name);
	assert_non_null(line);
	return strtoll(line + strlen(name), NULL, 10);
}

static void
assert_number(const char *dir, const char *file, int64_t want)
{
	auto_free char *path = xasprintf("%s/%s", dir, file);
	auto_buf struct buf text = { 0 };
	bool found;

	works(file_read(AT_FDCWD, path, TEXT_MAX, &found, &text, &E));
	assert_true(found);
	assert_int_equal(strtoll(text.data, NULL, 10), want);
}

static bool
exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static void
one_has_a_group_with_limits(void **state)
{
	auto_free char *group = NULL, *procs = NULL;
	auto_buf struct buf text = { 0 };
	struct receiving r;
	struct cgroup_tree t;
	bool found;

	(void)state;
	works(cgroup_find(CONF.cgroup_root, &t, &E));
	if (t.count == 0)
		return;
	works(begin(&r, OWNER, soon()));
	group = xasprintf("%s/job/%s-0", t.at[0].dir, OWNER);
	procs = xasprintf("%s/cgroup.procs", group);
	do /* the job joins the group before it execs bwrap */
		works(file_read(AT_FDCWD, procs, TEXT_MAX, &found, &text, &E));
	while (text.len == 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	while (limit_of(strtoll(text.data, NULL, 10), "Max address space") !=
	    CGROUP_JOB_BYTES)
		; /* ... and has its limits a little later */
#endif
	if (str_equal(t.ops->name, "v1"))
		assert_number(group, "memory.limit_in_bytes", CGROUP_JOB_BYTES);
	else if (cgroup_holds(&t, CGROUP_MEMORY))
		assert_number(group, "memory.max", CGROUP_JOB_BYTES);
	works(job_sweep(&P, &E)); /* the job lives and keeps its group */
	assert_true(exists(group));
	end(&r);
	/* the group may still count its last process after the end */
	while (exists(group))
		works(job_sweep(&P, &E));
}

/* Also when pid 1 reaps the processes of the first jobs late. */
static void
many_in_a_row_all_end_well(void **state)
{
	enum { MANY = 40 };

	(void)state;
	for (int i = 0; i < MANY; i++) {
		struct receiving r;
		struct job_seen seen;

		works(begin(&r, OWNER, soon()));
		mem_close_fd(&r.to);
		works(job_wait(r.dir, r.ended, soon(), &seen, &E));
		mem_close_fd(&r.ended);
		/* the archive was read, and holds nothing */
		assert_int_equal(seen.state, JOB_FAILED);
		assert_code(seen.why.code, CODE_JOB_FAILED);
	}
}

const struct CMUnitTest SUITE_JOBS[] = {
	cmocka_unit_test(an_owner_has_few_at_once_and_another_has_its_own),
	cmocka_unit_test(one_has_a_group_with_limits),
	cmocka_unit_test(many_in_a_row_all_end_well),
	{ 0 },
};
