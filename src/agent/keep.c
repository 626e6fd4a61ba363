/* keep.c: all a session's files, sent to the host for a snapshot. */
#include "agent/keep.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "agent/activity.h"
#include "agent/spawn.h"
#include "common/json.h"
#include "common/mem.h"
#include "common/str.h"

enum { WORDS_MAX = 16 * 1024, SAID_MAX = 160 };

/* What it said, to its end; the rest of a long story is not kept. */
static void
hear(int fd, struct buf *to)
{
	char more[512];
	ssize_t n;

	while (
	    (n = read(fd, more, sizeof(more))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && to->len + (size_t)n <= WORDS_MAX)
			buf_add(to, more, (size_t)n);
}

/* {entry, message, errno} of pack.h, or nothing when something ended it. */
static int
cannot_keep(const struct buf *words, struct err *e)
{
	auto_json json_t *said = NULL;
	struct err ignored;

	if (words->len == 0 ||
	    json_parse(words->data, words->len, &said, &ignored) < 0)
		return err_set(e, ERR_CONFLICT, "cannot_keep",
		    "the files were not sent to their end");
	return err_set(e, ERR_CONFLICT, "cannot_keep",
	    "the files cannot be read: %.*s", SAID_MAX,
	    json_str(said, "message"));
}

static int
run(int fd, struct err *e)
{
	static const char *const ARGV[] = { "/proc/self/exe", "keep", NULL };
	char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
	char *envp[] = { path, NULL };
	auto_buf struct buf words = { 0 };
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
		hear(ends[0], &words);
	close(ends[0]);
	if (rc < 0)
		return -1;
	return spawn_wait(&child) == 0 ? 0 : cannot_keep(&words, e);
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
