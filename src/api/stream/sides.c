/* sides.c: connects, writes and closes the sides of a stream. */
#include "api/stream/sides.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"

bool
stream_target(const char *run_dir, const char *name, size_t len,
    char out[STREAM_TARGET_MAX])
{
	static const char ID[] = "0123456789abcdefghijklmnopqrstuvwxyz";
	static const char SCHEME[] = "unix:";
	auto_free char *dir = xasprintf("%s%s/s/", SCHEME, run_dir);
	size_t before = strlen(dir), id_len, number_len;
	const char *rest;

	if (len - strlen(SCHEME) >= STREAM_TARGET_MAX || len <= before ||
	    memcmp(name, dir, before) != 0 || memchr(name, '\0', len) != NULL)
		return false;
	memcpy(out, name + strlen(SCHEME), len - strlen(SCHEME));
	out[len - strlen(SCHEME)] = '\0';
	rest = out + before - strlen(SCHEME);
	id_len = strspn(rest, ID);
	if (id_len != STREAM_SESSION_LEN || rest[id_len] != '.')
		return false;
	rest += id_len + 1;
	number_len = strspn(rest, "0123456789");
	return number_len >= 1 && number_len <= 19 &&
	    str_equal(rest + number_len, ".sock");
}

int
stream_connect(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_fd int fd =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	str_copy(a.sun_path, sizeof(a.sun_path), path);
	/* connect() on a unix socket succeeds or fails at once */
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	return take_fd(&fd);
}

bool
stream_count_org(struct streams *all, struct stream *s, const char *org,
    size_t len)
{
	uint32_t h = 2166136261u; /* FNV-1a */

	for (size_t i = 0; i < len; i++)
		h = (h ^ (unsigned char)org[i]) * 16777619u;
	s->org = (uint16_t)(1 + h % (STREAM_ORGS - 1));
	return ++all->of_org[s->org] <= all->org_max;
}

/* ---- one side */

bool
stream_pending(const struct stream_side *d)
{
	return d->sent < d->out.len;
}

void
stream_forget_pending(struct stream_side *d)
{
	buf_free(&d->out);
	d->sent = 0;
}

int
stream_flush(struct stream_side *d)
{
	while (stream_pending(d)) {
		ssize_t n = send(d->fd, d->out.data + d->sent,
		    d->out.len - d->sent, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		d->sent += (size_t)n;
	}
	stream_forget_pending(d); /* an idle stream holds no memory */
	return 0;
}

int
stream_arm(struct streams *all, struct stream_side *d, uint32_t want)
{
	int rc = 0;

	if (want == d->armed)
		return 0;
	if (want == 0)
		poller_remove(&all->poller, d->fd);
	else if (d->armed == 0)
		rc = poller_add(&all->poller, d->fd, want, d);
	else
		rc = poller_change(&all->poller, d->fd, want, d);
	if (rc == 0)
		d->armed = want;
	return rc;
}

void
stream_close_side(struct streams *all, struct stream_side *d)
{
	if (d->armed != 0)
		poller_remove(&all->poller, d->fd);
	mem_close_fd(&d->fd);
	d->armed = 0;
	stream_forget_pending(d);
}

/* ---- both sides */

void
stream_spoke(struct streams *all, struct stream *s)
{
	s->spoke_ms = clock_ms();
	TAILQ_REMOVE(&all->all, s, link);
	TAILQ_INSERT_TAIL(&all->all, s, link);
}

void
stream_over(struct streams *all, struct stream *s)
{
	stream_close_side(all, &s->wrapper);
	stream_close_side(all, &s->worker);
	s->state = STREAM_OVER;
}

void
stream_end(struct streams *all, struct stream *s)
{
	stream_close_side(all, &s->nginx);
	stream_close_side(all, &s->wrapper);
	stream_close_side(all, &s->worker);
	s->state = STREAM_ENDED;
	TAILQ_REMOVE(&all->all, s, link);
	TAILQ_INSERT_TAIL(&all->ended, s, link);
	all->count--;
	if (s->org != 0)
		all->of_org[s->org]--;
}
