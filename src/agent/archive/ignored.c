/* ignored.c: lists the files that git ignores in a directory. */
#include "agent/archive/ignored.h"

#include <fcntl.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

enum { GIT_MS = 60 * 1000 };

/* The repository is not trusted: git must not run its hooks and fsmonitor. */
#define GIT                                                                    \
	"/usr/bin/env", "git", "--no-optional-locks", "-c",                    \
	    "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c",    \
	    "core.untrackedCache=false"

static int
run_git(const struct helper_plan *p, const struct helper_boss *boss,
    struct buf *said, int *status, struct err *e)
{
	auto_helper struct helper w = HELPER_NONE;
	struct helper_boss hurried = *boss;

	hurried.deadline_ms = clock_ms() + GIT_MS;
	if (helper_start(&w, p, e) < 0)
		return -1;
	return helper_watch(&w, &hurried, w.out, said, status, e);
}

int
ignored_send(const char *dir, int to, const struct helper_boss *boss,
    struct err *e)
{
	static const char *const INSIDE[] = { GIT, "rev-parse",
		"--is-inside-work-tree", NULL };
	static const char *const LIST[] = { GIT, "ls-files", "-z", "--others",
		"--ignored", "--exclude-standard", "--directory", NULL };
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_buf struct buf said = { 0 };
	int status;

	if (null < 0)
		return err_errno(e, "/dev/null");
	if (run_git(&(struct helper_plan){ INSIDE, dir, null, HELPER_PIPE,
			null },
		boss, &said, &status, e) < 0)
		return -1;
	if (status != 0 || said.len == 0 || !str_starts(said.data, "true"))
		return 0;
	if (run_git(&(struct helper_plan){ LIST, dir, null, to, null }, boss,
		&said, &status, e) < 0)
		return -1;
	return status == 0 ? 0
			   : err_set(e, ERR_INTERNAL, CODE_NONE,
				 "git cannot list the files that it ignores");
}
