/* snapshot_export.c: sends a session's files to the host for a snapshot. */
#include "agent/archive/snapshot_export.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>

#include "agent/run/activity.h"
#include "agent/run/helper.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/mem.h"

enum { SAID_MAX = 160, LAST_MS = 10 * 1000 };

/* `words`: the report of `keep` (pack.h); empty if `keep` was killed. */
static int
export_error(const struct buf *words, struct err *e)
{
	auto_json json_t *said = NULL;
	struct err ignored;

	if (words->len == 0 ||
	    json_parse(words->data, words->len, &said, &ignored) < 0)
		return err_set(e, ERR_CONFLICT, CODE_CANNOT_KEEP,
		    "the transfer of the files was cut off");
	return err_set(e, ERR_CONFLICT, CODE_CANNOT_KEEP,
	    "the files cannot be read: %.*s", SAID_MAX,
	    json_str(said, "message"));
}

/*
 * Waits for the helper; its status, or -1.  When the host closes its end, the
 * helper has sent everything or will die of SIGPIPE at its next write: it gets
 * LAST_MS for that.
 */
static int
wait_for_helper(struct helper *w, int to, struct buf *words)
{
	enum { DONE, HEARD, GONE, COUNT };
	struct pollfd p[COUNT] = {
		[DONE] = { w->child.pidfd, POLLIN, 0 },
		[HEARD] = { w->err, POLLIN, 0 },
		[GONE] = { to, 0, 0 },
	};
	int64_t deadline_ms = 0;

	for (;;) {
		int n = poll(p, COUNT,
		    deadline_ms > 0 ? clock_left_ms(deadline_ms) : -1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		if (p[GONE].revents != 0) {
			p[GONE].fd = -1;
			deadline_ms = clock_ms() + LAST_MS;
		}
		/* read all of stderr before the status */
		if (p[HEARD].revents != 0) {
			if (!helper_hear(w->err, words))
				p[HEARD].fd = -1;
		} else if (p[DONE].revents != 0) {
			return helper_wait(w);
		}
	}
}

static int
send_archive(int to, struct err *e)
{
	static const char *const ARGV[] = { "/proc/self/exe", "keep", NULL };
	auto_helper struct helper w = HELPER_NONE;
	auto_buf struct buf words = { 0 };
	auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null < 0)
		return err_errno(e, "/dev/null");
	if (helper_start(&w,
		&(struct helper_plan){ ARGV, "/", null, to, HELPER_PIPE },
		e) < 0)
		return -1;
	return wait_for_helper(&w, to, &words) == 0 ? 0
						    : export_error(&words, e);
}

int
snapshot_export_send(int fd, struct err *e)
{
	auto_fd int to = fd;
	int rc;

	activity_begin(ACTIVITY_STREAMS);
	rc = send_archive(to, e);
	activity_end(ACTIVITY_STREAMS);
	return rc;
}
