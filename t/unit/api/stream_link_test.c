/* stream_link_test.c: tests one stream, and plays nginx and wrapper. */
#include "../unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "api/stream/link.h"
#include "common/channel.h"
#include "common/mem.h"

#define SESSION "aaaaaaaaaaaaaaaaaaaa"

static const char HEAD[] = "Status: 200 OK\r\n"
			   "Content-Type: text/event-stream\r\n\r\n";

struct world {
	char dir[32], sub[64];
	char path[STREAM_TARGET_MAX]; /* of the wrapper's socket */
	int listen_fd;
	struct streams all;
	int nginx;   /* the test's end */
	int wrapper; /* the test's end; -1: not connected */
	const char *org;
};

static int
set_up(void **state)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct err e = { 0 };

	str_copy(w->dir, sizeof(w->dir), "/tmp/sl-link.XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->sub, sizeof(w->sub), "%s/s", w->dir);
	assert_int_equal(mkdir(w->sub, 0700), 0);
	snprintf(w->path, sizeof(w->path), "%s/" SESSION ".7.sock", w->sub);
	w->listen_fd = channel_listen(w->path, SOCK_STREAM, &e);
	assert_true(w->listen_fd >= 0);
	assert_int_equal(fcntl(w->listen_fd, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(poller_open(&w->all.poller), 0);
	w->all.run_dir = w->dir;
	w->all.org_max = 2;
	w->org = "acme";
	TAILQ_INIT(&w->all.all);
	TAILQ_INIT(&w->all.ended);
	w->nginx = w->wrapper = -1;
	*state = w;
	return 0;
}

static int
tear_down(void **state)
{
	struct world *w = *state;

	stream_drop(&w->all);
	mem_close_fd(&w->nginx);
	mem_close_fd(&w->wrapper);
	mem_close_fd(&w->listen_fd);
	poller_close(&w->all.poller);
	unlink(w->path);
	rmdir(w->sub);
	rmdir(w->dir);
	free(w);
	return 0;
}

/* Lets everything happen that can happen now. */
static void
turn(struct world *w)
{
	struct epoll_event ev[4];
	int n;

	while ((n = poller_wait(&w->all.poller, ev, 4, 0, NULL)) > 0) {
		for (int i = 0; i < n; i++)
			stream_event(&w->all, ev[i].data.ptr, ev[i].events);
		stream_bury(&w->all);
	}
}

static void
connect_nginx(struct world *w, bool busy)
{
	int pair[2];

	assert_int_equal(
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair), 0);
	w->nginx = pair[0];
	stream_open(&w->all, pair[1], busy);
}

static void
send_all(int fd, const void *data, size_t len)
{
	assert_int_equal(send(fd, data, len, MSG_NOSIGNAL), len);
}

static void
add_param(struct buf *b, const char *name, const char *value)
{
	const unsigned char sizes[] = { (unsigned char)strlen(name),
		(unsigned char)strlen(value) };

	buf_add(b, sizes, sizeof(sizes));
	buf_str(b, name);
	buf_str(b, value);
}

static void
make_request(const struct world *w, const char *body, struct buf *out)
{
	auto_buf struct buf params = { 0 };
	auto_free char *target = xasprintf("unix:%s", w->path);

	add_param(&params, "A", "1");
	add_param(&params, "SL_TARGET", target);
	add_param(&params, "SL_KEY", "key1");
	add_param(&params, "SL_TENANT", w->org);
	add_param(&params, "SL_REQUEST_ID", "abc");
	records_begin(out, 1);
	records_add(out, RECORDS_PARAMS, 1, params.data, params.len);
	records_add(out, RECORDS_PARAMS, 1, "", 0);
	records_add(out, RECORDS_STDIN, 1, body, strlen(body));
	records_add(out, RECORDS_STDIN, 1, "", 0);
}

static void
accept_wrapper(struct world *w)
{
	w->wrapper = accept4(w->listen_fd, NULL, NULL, SOCK_NONBLOCK);
	assert_true(w->wrapper >= 0);
}

static void
ask(struct world *w, bool busy)
{
	auto_buf struct buf b = { 0 };

	connect_nginx(w, busy);
	make_request(w, "body", &b);
	send_all(w->nginx, b.data, b.len);
	turn(w);
}

/* Makes a stream that is connected. */
static void
open_stream(struct world *w)
{
	ask(w, false);
	accept_wrapper(w);
}

/* Reads content of `type`; *end: END_REQUEST came.  False: closed. */
static bool
take(int fd, int type, struct records *r, struct buf *out, bool *end)
{
	char part[65536];
	ssize_t n;

	*end = false;
	while ((n = recv(fd, part, sizeof(part), MSG_DONTWAIT)) > 0) {
		const char *data = part;
		size_t len = (size_t)n;
		struct records_piece p;

		while (records_next(r, &data, &len, &p) > 0) {
			if (p.type == type)
				buf_add(out, p.data, p.len);
			*end = *end || (p.type == RECORDS_END && p.last);
		}
	}
	return n < 0 && errno == EAGAIN;
}

static void
say(struct world *w, const char *text)
{
	auto_buf struct buf b = { 0 };

	records_add(&b, RECORDS_STDOUT, 1, text, strlen(text));
	send_all(w->wrapper, b.data, b.len);
}

/* Checks that nginx gets a complete answer whose error is `code`. */
static void
ends_with(struct world *w, const char *code)
{
	auto_buf struct buf out = { 0 };
	struct records r = { 0 };
	bool end;

	assert_false(take(w->nginx, RECORDS_STDOUT, &r, &out, &end));
	assert_true(end);
	assert_non_null(strstr(out.data, code));
}

/* ---- names */

static void
only_a_sessions_own_socket_is_a_target(void **state)
{
	static const struct {
		const char *name;
		bool good;
	} CASES[] = {
		{ "unix:/r/s/" SESSION ".7.sock", true },
		{ "unix:/r/s/" SESSION ".1234567890123456789.sock", true },
		{ "unix:/r/s/" SESSION ".12345678901234567890.sock", false },
		{ "unix:/r/s/" SESSION ".7.8080.sock", false },
		{ "unix:/r/s/" SESSION "..sock", false },
		{ "unix:/r/s/" SESSION ".7.socks", false },
		{ "unix:/r/s/a" SESSION ".7.sock", false },
		{ "unix:/r/s/AAAAAAAAAAAAAAAAAAAA.7.sock", false },
		{ "unix:/r/s/../s/" SESSION ".7.sock", false },
		{ "unix:/other/s/" SESSION ".7.sock", false },
		{ "/r/s/" SESSION ".7.sock", false },
		{ "unix:/r/api.sock", false },
		{ "unix:/r/s/", false },
		{ "unix", false },
		{ "", false },
	};
	char out[STREAM_TARGET_MAX], cut[] = "unix:/r/s/" SESSION ".7.sock";

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		assert_int_equal(stream_target("/r", CASES[i].name,
				     strlen(CASES[i].name), out),
		    CASES[i].good);
	assert_true(
	    stream_target("/r", CASES[0].name, strlen(CASES[0].name), out));
	assert_string_equal(out, "/r/s/" SESSION ".7.sock");
	cut[sizeof(cut) - 3] = '\0';
	assert_false(stream_target("/r", cut, sizeof(cut) - 1, out));
}

/* ---- the request */

static void
a_request_passes_in_any_portions_without_target_and_org(void **state)
{
	struct world *w = *state;
	auto_buf struct buf in = { 0 };

	make_request(w, "body", &in);
	for (size_t at = 0; at <= in.len; at++) {
		auto_buf struct buf params = { 0 };
		auto_buf struct buf body = { 0 };
		struct records r = { 0 };
		struct records_param p;
		char part[1024];
		const char *data = part;
		struct records_piece piece;
		size_t len;

		connect_nginx(w, false);
		if (at > 0)
			send_all(w->nginx, in.data, at);
		turn(w);
		if (at < in.len)
			send_all(w->nginx, in.data + at, in.len - at);
		turn(w);
		accept_wrapper(w);
		len = (size_t)recv(w->wrapper, part, sizeof(part), 0);
		while (records_next(&r, &data, &len, &piece) > 0)
			buf_add(piece.type == RECORDS_PARAMS ? &params : &body,
			    piece.data,
			    piece.type == RECORDS_BEGIN ? 0 : piece.len);
		assert_string_equal(body.data, "body");
		assert_false(records_param(&params, "SL_TARGET", &p));
		assert_false(records_param(&params, "SL_KEY", &p));
		assert_string_equal(TAILQ_FIRST(&w->all.all)->key, "key1");
		assert_false(records_param(&params, "SL_TENANT", &p));
		assert_true(records_param(&params, "A", &p));
		assert_true(records_param(&params, "SL_REQUEST_ID", &p));
		close(take_fd(&w->nginx));
		turn(w);
		assert_int_equal(w->all.count, 0);
		assert_int_equal(recv(w->wrapper, part, 1, 0), 0);
		close(take_fd(&w->wrapper));
	}
}

static void
noise_instead_of_a_request_is_hung_up_on(void **state)
{
	struct world *w = *state;

	connect_nginx(w, false);
	send_all(w->nginx, "PUT / HTTP/1.1\r\n\r\n", 18);
	turn(w);
	assert_int_equal(w->all.count, 0);
	assert_int_equal(close(take_fd(&w->nginx)), 0);
}

static void
a_wrapper_that_is_not_there_is_told_by_half_an_answer(void **state)
{
	struct world *w = *state;
	auto_buf struct buf out = { 0 };
	struct records r = { 0 };
	bool end;

	close(take_fd(&w->listen_fd)); /* the file stays: ECONNREFUSED */
	ask(w, false);
	assert_false(take(w->nginx, RECORDS_STDOUT, &r, &out, &end));
	assert_string_equal(out.data, "X-Sandlease-Unsent: 1\r\n");
	assert_false(end);
}

static void
one_too_many_is_refused_in_words(void **state)
{
	struct world *w = *state;

	ask(w, true);
	ends_with(w, "Status: 503");
	assert_int_equal(accept4(w->listen_fd, NULL, NULL, SOCK_NONBLOCK), -1);
}

/* Opens a stream and says whether it reached the wrapper. */
static bool
reaches_wrapper(struct world *w, const char *org, int *nginx)
{
	int fd;

	w->org = org;
	ask(w, false);
	*nginx = take_fd(&w->nginx);
	fd = accept4(w->listen_fd, NULL, NULL, SOCK_NONBLOCK);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void
an_org_takes_no_more_than_its_share(void **state)
{
	struct world *w = *state;
	auto_fd int first = -1, second = -1, third = -1, other = -1, none = -1;

	assert_true(reaches_wrapper(w, "acme", &first));
	assert_true(reaches_wrapper(w, "acme", &second));
	assert_false(reaches_wrapper(w, "acme", &third));
	assert_true(reaches_wrapper(w, "other", &other));
	/* a refused stream, too, gives its place back when nginx hangs up */
	close(take_fd(&third));
	close(take_fd(&first));
	turn(w);
	assert_true(reaches_wrapper(w, "acme", &third));
	assert_false(reaches_wrapper(w, "acme", &none));
}

/* ---- the answer */

static void
an_answer_passes_and_ends_as_it_is(void **state)
{
	struct world *w = *state;
	auto_buf struct buf in = { 0 };

	records_add(&in, RECORDS_STDOUT, 1, HEAD, strlen(HEAD));
	records_add(&in, RECORDS_STDOUT, 1, "data: 1\n\n", 9);
	records_add(&in, RECORDS_STDOUT, 1, "", 0);
	records_end(&in, 1);
	for (size_t at = 0; at <= in.len; at++) {
		auto_buf struct buf out = { 0 };
		struct records r = { 0 };
		bool end, first_end;

		open_stream(w);
		if (at > 0)
			send_all(w->wrapper, in.data, at);
		turn(w);
		take(w->nginx, RECORDS_STDOUT, &r, &out, &first_end);
		if (at < in.len) {
			send_all(w->wrapper, in.data + at, in.len - at);
			turn(w);
			assert_false(
			    take(w->nginx, RECORDS_STDOUT, &r, &out, &end));
		}
		assert_true(first_end || end);
		assert_memory_equal(out.data, HEAD, strlen(HEAD));
		assert_string_equal(out.data + strlen(HEAD), "data: 1\n\n");
		close(take_fd(&w->wrapper));
		close(take_fd(&w->nginx));
		turn(w);
		assert_int_equal(w->all.count, 0);
	}
}

static void
a_stream_that_is_cut_anywhere_gets_a_last_event(void **state)
{
	struct world *w = *state;
	auto_buf struct buf in = { 0 };

	records_add(&in, RECORDS_STDOUT, 1, HEAD, strlen(HEAD));
	records_add(&in, RECORDS_STDOUT, 1, "data: 1\n\ndata: 2\n\n", 18);
	records_add(&in, RECORDS_STDOUT, 1, "data: 3\n\n", 9);
	for (size_t at = 8 + strlen(HEAD); at <= in.len; at++) {
		auto_buf struct buf out = { 0 };
		struct records r = { 0 };
		const char *words;
		bool end;

		open_stream(w);
		send_all(w->wrapper, in.data, at);
		turn(w);
		close(take_fd(&w->wrapper));
		turn(w);
		assert_false(take(w->nginx, RECORDS_STDOUT, &r, &out, &end));
		assert_true(end);
		words = strstr(out.data, "data: {");
		assert_non_null(words);
		if (words > out.data + strlen(HEAD))
			assert_memory_equal(words - 2, "\n\n", 2);
		assert_non_null(strstr(words, "SESSION_TERMINATED"));
		assert_string_equal(out.data + out.len - 2, "\n\n");
		close(take_fd(&w->nginx));
		turn(w);
		assert_int_equal(w->all.count, 0);
	}
}

static void
an_answer_that_is_no_stream_is_only_cut(void **state)
{
	static const char *const CASES[] = { "", "Status: 200 OK\r\nConte",
		"Content-Type: application/json\r\n\r\n{\"a\"" };
	struct world *w = *state;

	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_buf struct buf out = { 0 };
		struct records r = { 0 };
		bool end;

		open_stream(w);
		say(w, CASES[i]);
		turn(w);
		close(take_fd(&w->wrapper));
		turn(w);
		assert_false(take(w->nginx, RECORDS_STDOUT, &r, &out, &end));
		assert_false(end);
		assert_int_equal(out.len, strlen(CASES[i]));
		close(take_fd(&w->nginx));
		turn(w);
	}
}

static void
a_wrapper_that_talks_nonsense_is_one_that_is_gone(void **state)
{
	struct world *w = *state;

	open_stream(w);
	say(w, HEAD);
	send_all(w->wrapper, "HTTP/1.1 200 OK\r\n\r\n", 19);
	turn(w);
	ends_with(w, "SESSION_TERMINATED");
}

/* ---- time and pressure */

static void
silence_is_filled_between_events_only(void **state)
{
	struct world *w = *state;
	auto_buf struct buf out = { 0 };
	struct records r = { 0 };
	struct stream *s;
	bool end;

	open_stream(w);
	s = TAILQ_FIRST(&w->all.all);
	stream_beat(&w->all, s); /* no event has begun */
	say(w, HEAD);
	say(w, "data: 1");
	turn(w);
	stream_beat(&w->all, s); /* in the middle of an event */
	say(w, "\n\n");
	turn(w);
	stream_beat(&w->all, s);
	assert_true(take(w->nginx, RECORDS_STDOUT, &r, &out, &end));
	assert_string_equal(out.data + strlen(HEAD), "data: 1\n\n: ka\n\n");
	unlink(w->path); /* the session is gone, its end still open */
	stream_beat(&w->all, s);
	ends_with(w, "SESSION_TERMINATED");
}

static void
who_does_not_take_it_stops_who_sends_it(void **state)
{
	struct world *w = *state;
	auto_buf struct buf line = { 0 };
	auto_buf struct buf out = { 0 };
	auto_free char *text = xcalloc(1, 4001);
	struct records r = { 0 };
	struct stream *s;
	size_t sent = 0;
	bool end = false;

	memset(text, 'x', 4000);
	records_add(&line, RECORDS_STDOUT, 1, text, 4000);
	open_stream(w);
	s = TAILQ_FIRST(&w->all.all);
	say(w, HEAD);
	for (;;) { /* nginx does not read, so the wrapper is blocked */
		ssize_t n = send(w->wrapper, line.data, line.len, MSG_DONTWAIT);

		turn(w);
		assert_true(s->nginx.out.len < 2 * 65536);
		if (n < 0)
			break;
		assert_int_equal(n, line.len);
		sent += 4000;
		assert_true(sent < 64 * 1024 * 1024);
	}
	assert_int_equal(s->wrapper.armed, 0);
	close(take_fd(&w->wrapper)); /* the wrapper dies */
	turn(w);
	while (take(w->nginx, RECORDS_STDOUT, &r, &out, &end))
		turn(w);
	assert_true(end);
	assert_true(out.len > strlen(HEAD) + sent);
	assert_non_null(strstr(out.data, "SESSION_TERMINATED"));
	assert_int_equal(s->nginx.out.cap, 0);
}

static void
a_client_that_goes_takes_the_wrapper_along_even_when_stuck(void **state)
{
	struct world *w = *state;
	auto_free char *text = xcalloc(1, 65536);
	auto_buf struct buf line = { 0 };
	char byte;

	records_add(&line, RECORDS_STDIN, 1, text, 60000);
	open_stream(w);
	for (int i = 0; i < 1000; i++) { /* the wrapper does not read */
		if (send(w->nginx, line.data, line.len, MSG_DONTWAIT) !=
		    (ssize_t)line.len)
			break;
		turn(w);
	}
	turn(w);
	assert_int_equal(w->all.count, 1);
	close(take_fd(&w->nginx));
	turn(w);
	assert_int_equal(w->all.count, 0);
	while (recv(w->wrapper, text, 65536, MSG_DONTWAIT) > 0)
		;
	assert_int_equal(recv(w->wrapper, &byte, 1, MSG_DONTWAIT), 0);
}

static void
a_cut_from_outside_names_its_reason(void **state)
{
	struct world *w = *state;

	open_stream(w);
	say(w, HEAD);
	turn(w);
	stream_cut(&w->all, TAILQ_FIRST(&w->all.all),
	    CODE_OPERATION_INTERRUPTED, "later");
	ends_with(w, "OPERATION_INTERRUPTED");
}

#define CASE(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test(only_a_sessions_own_socket_is_a_target),
		CASE(a_request_passes_in_any_portions_without_target_and_org),
		CASE(noise_instead_of_a_request_is_hung_up_on),
		CASE(a_wrapper_that_is_not_there_is_told_by_half_an_answer),
		CASE(one_too_many_is_refused_in_words),
		CASE(an_org_takes_no_more_than_its_share),
		CASE(an_answer_passes_and_ends_as_it_is),
		CASE(a_stream_that_is_cut_anywhere_gets_a_last_event),
		CASE(an_answer_that_is_no_stream_is_only_cut),
		CASE(a_wrapper_that_talks_nonsense_is_one_that_is_gone),
		CASE(silence_is_filled_between_events_only),
		CASE(who_does_not_take_it_stops_who_sends_it),
		CASE(
		    a_client_that_goes_takes_the_wrapper_along_even_when_stuck),
		CASE(a_cut_from_outside_names_its_reason),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
