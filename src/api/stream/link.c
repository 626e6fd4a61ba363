/* link.c: one stream: nginx on one side, a wrapper on the other. */
#include "api/stream/internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

enum { CHUNK = 65536, PARAMS_MAX = 256 * 1024, SESSION_LEN = 20 };

static char chunk[CHUNK]; /* one process, one thread: one is enough */

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
	if (id_len != SESSION_LEN || rest[id_len] != '.')
		return false;
	rest += id_len + 1;
	number_len = strspn(rest, "0123456789");
	return number_len >= 1 && number_len <= 19 &&
	    str_equal(rest + number_len, ".sock");
}

/* ---- both sides */

static bool
pending(const struct stream_side *d)
{
	return d->sent < d->out.len;
}

static void
forget_pending(struct stream_side *d)
{
	buf_free(&d->out);
	d->sent = 0;
}

void
stream_close_side(struct streams *all, struct stream_side *d)
{
	if (d->armed != 0)
		poller_remove(&all->poller, d->fd);
	mem_close_fd(&d->fd);
	d->armed = 0;
	forget_pending(d);
}

static void
end(struct streams *all, struct stream *s)
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

/* Writes what it takes now.  -1: it takes nothing any more. */
static int
flush(struct stream_side *d)
{
	while (pending(d)) {
		ssize_t n = send(d->fd, d->out.data + d->sent,
		    d->out.len - d->sent, MSG_NOSIGNAL);

		if (n < 0)
			return errno == EAGAIN || errno == EINTR ? 0 : -1;
		d->sent += (size_t)n;
	}
	forget_pending(d); /* an idle stream holds no memory */
	return 0;
}

/* A side of which nothing is wanted is taken out: a hangup is always told. */
static int
arm(struct streams *all, struct stream_side *d, uint32_t want)
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

static uint32_t
wanted_of_nginx(const struct stream *s)
{
	bool may_read = s->state != STREAM_OPEN ||
	    (!pending(&s->wrapper) &&
		(s->gate == NULL || stream_ws_may_read(s)));

	return EPOLLRDHUP | (may_read ? EPOLLIN : 0U) |
	    (pending(&s->nginx) ? EPOLLOUT : 0U);
}

static uint32_t
wanted_of_wrapper(const struct stream *s)
{
	return (pending(&s->nginx) ? 0U : EPOLLIN) |
	    (pending(&s->wrapper) ? EPOLLOUT : 0U);
}

static uint32_t
wanted_of_worker(const struct stream *s)
{
	return EPOLLIN | (pending(&s->worker) ? EPOLLOUT : 0U);
}

/* After everything: writes what can be written, waits for what is missing. */
static void
settle(struct streams *all, struct stream *s)
{
	if (s->wrapper.fd >= 0 && flush(&s->wrapper) < 0) {
		s->deaf = true; /* what it has said before is still read */
		forget_pending(&s->wrapper);
	}
	/* a worker that takes nothing more is seen by its end */
	if (s->worker.fd >= 0 && flush(&s->worker) < 0)
		forget_pending(&s->worker);
	if (flush(&s->nginx) < 0) {
		end(all, s);
		return;
	}
	if (s->gate != NULL && s->state == STREAM_OPEN)
		stream_ws_go_on(all, s);
	/* nginx may be sending still: closing now could cost it our answer */
	if (s->state == STREAM_OVER && !pending(&s->nginx) && !s->shut)
		s->shut = shutdown(s->nginx.fd, SHUT_WR) == 0;
	if (arm(all, &s->nginx, wanted_of_nginx(s)) < 0 ||
	    (s->wrapper.fd >= 0 &&
		arm(all, &s->wrapper, wanted_of_wrapper(s)) < 0) ||
	    (s->worker.fd >= 0 &&
		arm(all, &s->worker, wanted_of_worker(s)) < 0))
		end(all, s);
}

/* ---- the answer */

void
stream_spoke(struct streams *all, struct stream *s)
{
	s->spoke_ms = clock_ms();
	TAILQ_REMOVE(&all->all, s, link);
	TAILQ_INSERT_TAIL(&all->all, s, link);
}

static void
say(struct streams *all, struct stream *s, const char *data, size_t len)
{
	records_add(&s->nginx.out, RECORDS_STDOUT, s->id, data, len);
	stream_spoke(all, s);
}

/* Nothing more comes; without the end that FastCGI has, nginx calls it cut. */
void
stream_over(struct streams *all, struct stream *s)
{
	stream_close_side(all, &s->wrapper);
	stream_close_side(all, &s->worker);
	s->state = STREAM_OVER;
}

static void
over_properly(struct streams *all, struct stream *s)
{
	records_end(&s->nginx.out, s->id);
	stream_over(all, s);
}

static void
last_words(struct streams *all, struct stream *s, enum err_code code,
    const char *message)
{
	auto_buf struct buf words = { 0 };
	char session[ID_MAX];

	if (s->gate == NULL && !answer_streams(&s->answer)) {
		stream_over(all, s);
		return;
	}
	snprintf(session, sizeof(session), "%.*s", SESSION_LEN,
	    strrchr(s->target, '/') + 1);
	log_context(s->request_id, session);
	log_line(LOG_INFO, "stream_cut", "%s", message);
	log_context("", "");
	if (s->gate != NULL) {
		stream_ws_leave(all, s);
		return;
	}
	answer_last_words(&s->answer, code, message, &words);
	say(all, s, words.data, words.len);
	over_properly(all, s);
}

static void
lose_wrapper(struct streams *all, struct stream *s)
{
	last_words(all, s, CODE_SESSION_TERMINATED,
	    "The session's agent has ended, and this stream with it.");
}

static void
take_reply(struct streams *all, struct stream *s, const char *data, size_t len)
{
	struct records_piece p;
	int rc;

	while ((rc = records_next(&s->reply, &data, &len, &p)) > 0) {
		if (p.type == RECORDS_STDOUT && p.len > 0) {
			answer_see(&s->answer, p.data, p.len);
			say(all, s, p.data, p.len);
		} else if (p.type == RECORDS_END && p.last) {
			over_properly(all, s);
			return;
		}
	}
	if (rc < 0)
		lose_wrapper(all, s);
}

static void
read_wrapper(struct streams *all, struct stream *s)
{
	ssize_t n = read(s->wrapper.fd, chunk, sizeof(chunk));

	if (n > 0 && s->gate != NULL)
		stream_ws_from_wrapper(all, s, chunk, (size_t)n);
	else if (n > 0)
		take_reply(all, s, chunk, (size_t)n);
	else if (s->gate != NULL && (n == 0 || errno == ECONNRESET))
		stream_over(all, s); /* it has said itself why */
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		lose_wrapper(all, s);
}

/* ---- the request */

int
stream_connect(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_fd int fd =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	str_copy(a.sun_path, sizeof(a.sun_path), path);
	/* at once or not at all: that is how unix sockets are */
	if (fd < 0 || connect(fd, (const struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	return take_fd(&fd);
}

/* Takes a parameter out of the rest: nothing of this host is told inside. */
static void
drop_param(struct stream *s, const struct records_param *p)
{
	s->params.len -= p->size;
	memmove(s->params.data + p->at, s->params.data + p->at + p->size,
	    s->params.len - p->at);
}

static void
take_target(struct streams *all, struct stream *s)
{
	struct records_param p;

	if (!records_param(&s->params, "SL_TARGET", &p))
		return;
	if (!stream_target(all->run_dir, p.value, p.len, s->target))
		s->target[0] = '\0';
	drop_param(s, &p);
}

static void
take_key(struct stream *s)
{
	struct records_param p;

	if (!records_param(&s->params, "SL_KEY", &p))
		return;
	if (p.len < sizeof(s->key)) {
		memcpy(s->key, p.value, p.len);
		s->key[p.len] = '\0';
	}
	drop_param(s, &p);
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

static bool
take_org(struct streams *all, struct stream *s)
{
	struct records_param p;
	bool may;

	if (!records_param(&s->params, "SL_TENANT", &p))
		return true; /* an nginx that was configured before us */
	may = stream_count_org(all, s, p.value, p.len);
	drop_param(s, &p);
	return may;
}

static void
take_request_id(struct stream *s)
{
	struct records_param p;

	if (records_param(&s->params, "SL_REQUEST_ID", &p) &&
	    p.len < sizeof(s->request_id)) {
		memcpy(s->request_id, p.value, p.len);
		s->request_id[p.len] = '\0';
	}
}

static void
refuse(struct streams *all, struct stream *s)
{
	auto_buf struct buf text = { 0 };

	answer_busy("The service has too many streams open; try again.", &text);
	say(all, s, text.data, text.len);
	over_properly(all, s);
}

/* Half an answer, so that nginx knows that nothing was sent on. */
static void
say_unsent(struct streams *all, struct stream *s)
{
	static const char UNSENT[] = "X-Sandlease-Unsent: 1\r\n";

	say(all, s, UNSENT, sizeof(UNSENT) - 1);
	stream_over(all, s);
}

/* All parameters are there. */
static void
go_on(struct streams *all, struct stream *s)
{
	if (s->busy || !take_org(all, s)) {
		refuse(all, s);
		return;
	}
	take_request_id(s);
	take_key(s);
	take_target(all, s);
	if (s->target[0] != '\0')
		s->wrapper.fd = stream_connect(s->target);
	if (s->wrapper.fd < 0) {
		say_unsent(all, s);
		return;
	}
	records_begin(&s->wrapper.out, s->id);
	if (s->params.len > 0)
		records_add(&s->wrapper.out, RECORDS_PARAMS, s->id,
		    s->params.data, s->params.len);
	records_add(&s->wrapper.out, RECORDS_PARAMS, s->id, "", 0);
	buf_free(&s->params);
	s->state = STREAM_OPEN;
}

/* False: nobody of ours speaks like that. */
static bool
take_piece(struct streams *all, struct stream *s, const struct records_piece *p)
{
	switch (p->type) {
	case RECORDS_BEGIN:
		s->id = p->id;
		return true;
	case RECORDS_PARAMS:
		if (s->state != STREAM_HEAD)
			return false;
		buf_add(&s->params, p->data, p->len);
		if (p->len == 0)
			go_on(all, s);
		return s->params.len <= PARAMS_MAX;
	case RECORDS_STDIN:
		if (s->state == STREAM_OPEN && !s->deaf)
			records_add(&s->wrapper.out, RECORDS_STDIN, s->id,
			    p->data, p->len);
		return s->state != STREAM_HEAD;
	default:
		return false;
	}
}

/* FastCGI begins with its version, a WebSocket's request with its method. */
static bool
speaks_http(struct stream *s)
{
	if (s->state == STREAM_HEAD && s->request.have == 0 &&
	    s->params.len == 0 && s->gate == NULL && chunk[0] == 'G')
		s->gate = xcalloc(1, sizeof(*s->gate));
	return s->gate != NULL;
}

static void
read_nginx(struct streams *all, struct stream *s)
{
	ssize_t n = read(s->nginx.fd, chunk, sizeof(chunk));
	const char *data = chunk;
	struct records_piece p;
	size_t len;
	int rc;

	if (n <= 0) {
		if (n == 0 || (errno != EAGAIN && errno != EINTR))
			end(all, s);
		return;
	}
	len = (size_t)n;
	if (speaks_http(s)) {
		stream_ws_from_nginx(all, s, data, len);
		return;
	}
	while ((rc = records_next(&s->request, &data, &len, &p)) > 0)
		if (!take_piece(all, s, &p))
			break;
	if (rc != 0)
		end(all, s);
}

/* ---- from outside */

void
stream_open(struct streams *all, int fd, bool busy)
{
	struct stream *s = xcalloc(1, sizeof(*s));

	s->nginx = (struct stream_side){ .of = s, .fd = fd };
	s->wrapper = (struct stream_side){ .of = s, .fd = -1 };
	s->worker = (struct stream_side){ .of = s, .fd = -1 };
	s->busy = busy;
	s->spoke_ms = clock_ms();
	TAILQ_INSERT_TAIL(&all->all, s, link);
	all->count++;
	settle(all, s);
}

void
stream_event(struct streams *all, struct stream_side *side, uint32_t events)
{
	struct stream *s = side->of;
	bool hangup = (events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;

	if (side->fd < 0)
		return; /* closed in this round */
	if (side == &s->nginx) {
		if (hangup) {
			end(all, s);
			return;
		}
		if ((events & EPOLLIN) != 0)
			read_nginx(all, s);
	} else if (side == &s->worker) {
		if (hangup || (events & EPOLLIN) != 0)
			stream_ws_from_worker(all, s);
	} else if ((hangup || (events & EPOLLIN) != 0) &&
	    (side->armed & EPOLLIN) != 0) {
		read_wrapper(all, s);
	}
	if (s->state == STREAM_ENDED)
		return;
	if (s->gate != NULL)
		stream_ws_look_at_clock(all, s);
	settle(all, s);
}

void
stream_beat(struct streams *all, struct stream *s)
{
	static const char COMMENT[] = ": ka\n\n";

	stream_spoke(all, s);
	if (s->state == STREAM_HEAD) {
		end(all, s);
		return;
	}
	if (s->gate != NULL)
		stream_ws_look_at_clock(all, s);
	else if (s->state != STREAM_OPEN || pending(&s->nginx) ||
	    !answer_between_events(&s->answer))
		return;
	/* a name that is gone: the session has ended, whoever holds this end */
	if (s->state == STREAM_OPEN && access(s->target, F_OK) < 0 &&
	    errno == ENOENT)
		lose_wrapper(all, s);
	else if (s->gate == NULL)
		say(all, s, COMMENT, sizeof(COMMENT) - 1);
	settle(all, s);
}

void
stream_cut(struct streams *all, struct stream *s, enum err_code code,
    const char *message)
{
	if (s->state == STREAM_OPEN)
		last_words(all, s, code, message);
	else if (s->state == STREAM_HEAD && s->gate != NULL)
		stream_over(all, s);
	else if (s->state == STREAM_HEAD)
		say_unsent(all, s);
	settle(all, s);
}

void
stream_drop(struct streams *all)
{
	struct stream *s;

	while ((s = TAILQ_FIRST(&all->all)) != NULL)
		end(all, s);
	stream_bury(all);
}

void
stream_bury(struct streams *all)
{
	struct stream *s;

	while ((s = TAILQ_FIRST(&all->ended)) != NULL) {
		TAILQ_REMOVE(&all->ended, s, link);
		buf_free(&s->params);
		if (s->gate != NULL)
			ws_gate_free(s->gate);
		free(s);
	}
}
