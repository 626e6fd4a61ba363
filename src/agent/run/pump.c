/* pump.c: carries script and output while a command runs. */
#include "agent/run/pump.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "agent/base/drain.h"
#include "agent/run/activity.h"
#include "common/clock.h"
#include "common/mem.h"

/* FULL_READS empty two full pipes; a drain makes them without time limit. */
enum { CHUNK = 32768, FULL_READS = 2 * (1024 * 1024 / CHUNK) };
enum { DRAIN_MS = 100, DRAIN_QUIET_MS = 10 };
enum {
	AT_OUT,
	AT_ERR,
	AT_STATUS,
	AT_PROC,
	AT_SCRIPT,
	AT_WAKE,
	AT_CLIENT,
	AT__MAX
};

/* Passes output to the caller, and counts it as activity. */
static void
pass_output(struct pump *p, int which, const char *buf, size_t len)
{
	activity_touch();
	p->output(p->output_ctx, which, buf, len);
}

static void
close_output(struct pump *p, int which)
{
	close(take_fd(&p->out[which]));
}

/* Reads once.  A fifo that had no writer yet reports no end of file. */
static void
read_output(struct pump *p, int which, short events, char *buf)
{
	ssize_t n;

	if (events == 0)
		return;
	p->opened[which] = true;
	n = read(p->out[which], buf, CHUNK);
	if (n > 0)
		pass_output(p, which, buf, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		close_output(p, which);
}

/* poll does not show a writer that is silent; read() tells it from none. */
static void
find_silent_writer(struct pump *p, int which, char *buf)
{
	ssize_t n;

	if (p->out[which] < 0 || p->opened[which])
		return;
	n = read(p->out[which], buf, CHUNK);
	p->opened[which] = n != 0;
	if (n > 0)
		pass_output(p, which, buf, (size_t)n);
}

static void
write_script(struct pump *p)
{
	ssize_t n = write(p->script_fd, p->script, p->script_len);

	if (n > 0) {
		p->script += n;
		p->script_len -= (size_t)n;
	} else if (n < 0 && errno != EAGAIN && errno != EINTR) {
		p->script_len = 0; /* the shell has ended: pidfd reports it */
	}
}

static bool
read_status(struct pump *p, char *buf)
{
	ssize_t n = read(p->status_fd, buf, CHUNK);

	if (n > 0)
		return p->status(p->status_ctx, buf, (size_t)n);
	if (n == 0)
		p->status_fd = -1; /* closed: the process ends next */
	return false;
}

static int
wait_ms(const struct pump *p)
{
	int ms = p->quiet_ms != NULL ? *p->quiet_ms : -1;

	if (p->deadline_ms > 0) {
		int left = clock_left_ms(p->deadline_ms);

		if (ms < 0 || left < ms)
			ms = left;
	}
	return ms;
}

enum pump_end
pump_run(struct pump *p)
{
	auto_free char *buf = xmalloc(CHUNK);

	for (;;) {
		struct pollfd f[AT__MAX] = {
			[AT_OUT] = { p->hold ? -1 : p->out[0], POLLIN, 0 },
			[AT_ERR] = { p->hold ? -1 : p->out[1], POLLIN, 0 },
			[AT_STATUS] = { p->status_fd, POLLIN, 0 },
			[AT_PROC] = { p->pidfd, POLLIN, 0 },
			[AT_SCRIPT] = { p->script_len > 0 ? p->script_fd : -1,
			    POLLOUT, 0 },
			[AT_WAKE] = { p->wake_fd, POLLIN, 0 },
			[AT_CLIENT] = { p->client_fd > 0 ? p->client_fd : -1,
			    POLLRDHUP, 0 },
		};
		int n = poll(f, AT__MAX, wait_ms(p));

		if (n == 0 && p->quiet_ms != NULL)
			p->quiet(p->output_ctx);
		read_output(p, 0, f[AT_OUT].revents, buf);
		read_output(p, 1, f[AT_ERR].revents, buf);
		if (f[AT_SCRIPT].revents != 0)
			write_script(p);
		if (f[AT_STATUS].revents != 0 && read_status(p, buf))
			return PUMP_TOLD;
		if (f[AT_PROC].revents != 0 ||
		    (p->status_must && p->status_fd < 0))
			return PUMP_EXITED;
		if (f[AT_WAKE].revents != 0 || f[AT_CLIENT].revents != 0)
			return PUMP_WOKEN;
		if (p->deadline_ms > 0 && clock_left_ms(p->deadline_ms) == 0)
			return PUMP_TIMEOUT;
	}
}

void
pump_catch_up(struct pump *p)
{
	auto_free char *buf = xmalloc(CHUNK);

	for (int i = 0; i < 2; i++) {
		int left = 0;

		if (p->out[i] >= 0)
			(void)ioctl(p->out[i], FIONREAD, &left);
		while (left > 0 && p->out[i] >= 0) {
			size_t max = left < CHUNK ? (size_t)left : CHUNK;
			ssize_t n = read(p->out[i], buf, max);

			if (n <= 0)
				break;
			pass_output(p, i, buf, (size_t)n);
			left -= (int)n;
		}
	}
}

void
pump_drain(struct pump *p)
{
	auto_free char *buf = xmalloc(CHUNK);
	int64_t end = clock_ms() + DRAIN_MS;

	for (int reads = 0; (p->out[0] >= 0 || p->out[1] >= 0) &&
	     (reads < FULL_READS || clock_left_ms(end) > 0);
	     reads++) {
		struct pollfd f[2] = { { p->out[0], POLLIN, 0 },
			{ p->out[1], POLLIN, 0 } };

		if (poll(f, 2, DRAIN_QUIET_MS) == 0)
			break;
		read_output(p, 0, f[0].revents, buf);
		read_output(p, 1, f[1].revents, buf);
	}
	find_silent_writer(p, 0, buf);
	find_silent_writer(p, 1, buf);
}

void
pump_close(struct pump *p)
{
	for (int i = 0; i < 2; i++)
		if (p->opened[i] && p->out[i] >= 0)
			drain_adopt(take_fd(&p->out[i]));
		else if (p->out[i] >= 0)
			close_output(p, i); /* never had a writer */
}
