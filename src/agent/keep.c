/* keep.c: all a session's files, sent to the host for a snapshot. */
#include "agent/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/activity.h"
#include "agent/spawn.h"
#include "common/mem.h"

enum { WORDS_MAX = 200 };

/* What it said, to its end; the rest of a long story is not kept. */
static void
hear(int fd, char *to, size_t size)
{
	size_t len = 0;
	char more[WORDS_MAX];
	ssize_t n;

	while (
	    (n = read(fd, more, sizeof(more))) > 0 || (n < 0 && errno == EINTR))
		for (ssize_t i = 0; i < n && len + 1 < size; i++)
			to[len++] = more[i];
	to[len] = '\0';
}

static int
run(int fd, struct err *e)
{
	static const char *const ARGV[] = { "/proc/self/exe", "keep", NULL };
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	char *envp[] = { path, NULL };
	char words[WORDS_MAX];
	struct child child = { -1, -1 };
	auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	int ends[2], rc;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	rc = spawn_start(&(struct spawn){ .argv = ARGV,
			     .envp = envp,
			     .cwd = "/",
			     .cwd_must = true,
			     .in = null,
			     .out = fd,
			     .err = ends[1] },
	    &child, e);
	close(ends[1]);
	if (rc == 0)
		hear(ends[0], words, sizeof(words));
	close(ends[0]);
	if (rc < 0)
		return -1;
	rc = spawn_wait(&child);
	return rc == 0 ? 0
		       : err_set(e, ERR_CONFLICT, "cannot_keep",
			     "the files cannot be read: %s",
			     words[0] != '\0' ? words : "it was ended");
}

int
keep_send(int fd, struct err *e)
{
	auto_fd int to = fd;
	int rc;

	activity_begin(ACTIVITY_STREAMS);
	rc = run(to, e);
	activity_end(ACTIVITY_STREAMS);
	return rc;
}
