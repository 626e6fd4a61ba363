/*
 * posts_test.c: tests that no server, name or answer holds up other requests,
 * and that we connect to no address that is not public.
 */
#include "../unit.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "webhook/posts.h"

enum { REQUEST_MAX = 4096 };

/*
 * libcurl resolves names with these functions.  "mute.test" is a name whose
 * servers do not answer; "inside.test" resolves to this machine.
 */
int
getaddrinfo(const char *name, const char *service, const struct addrinfo *hints,
    struct addrinfo **out)
{
	struct sockaddr_in *at;
	struct addrinfo *a;

	(void)hints;
	if (str_equal(name, "mute.test"))
		for (;;)
			pause();
	if (!str_equal(name, "inside.test"))
		return EAI_NONAME;
	a = calloc(1, sizeof(*a));
	at = calloc(1, sizeof(*at));
	at->sin_family = AF_INET;
	at->sin_port = htons((uint16_t)atoi(service != NULL ? service : "0"));
	at->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	a->ai_family = AF_INET;
	a->ai_socktype = SOCK_STREAM;
	a->ai_addrlen = sizeof(*at);
	a->ai_addr = (struct sockaddr *)at;
	*out = a;
	return 0;
}

void
freeaddrinfo(struct addrinfo *a)
{
	free(a->ai_addr);
	free(a);
}

/* ---- a server for one connection at a time */

struct server {
	int fd;
	int port;
	const char *answer; /* NULL: none */
	size_t zeros;       /* sent after the answer */
	pthread_t thread;
	int requests;
	char request[REQUEST_MAX]; /* the last one */
};

static void
answer_one(struct server *s, int fd)
{
	size_t len = 0;
	ssize_t n;

	memset(s->request, 0, sizeof(s->request));
	do {
		n = read(fd, s->request + len, sizeof(s->request) - 1 - len);
		len += n > 0 ? (size_t)n : 0;
	} while (n > 0 && strstr(s->request, "\r\n\r\n{}") == NULL);
	s->requests++;
	if (s->answer == NULL) {
		/* until the client goes */
		while (read(fd, &(char){ 0 }, 1) > 0)
			continue;
		return;
	}
	if (write(fd, s->answer, strlen(s->answer)) < 0)
		return;
	for (size_t i = 0; i < s->zeros; i++)
		if (send(fd, "0000000000000000", 16, MSG_NOSIGNAL) < 0)
			return;
}

static void *
serve(void *ctx)
{
	struct server *s = ctx;

	for (;;) {
		int fd = accept(s->fd, NULL, NULL);

		if (fd < 0)
			return NULL;
		answer_one(s, fd);
		close(fd);
	}
}

static void
begin_server(struct server *s, const char *answer)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t len = sizeof(at);

	*s = (struct server){ .answer = answer };
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(s->fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(s->fd, 16), 0);
	assert_int_equal(getsockname(s->fd, (struct sockaddr *)&at, &len), 0);
	s->port = ntohs(at.sin_port);
	assert_int_equal(pthread_create(&s->thread, NULL, serve, s), 0);
}

static void
end_server(struct server *s)
{
	shutdown(s->fd, SHUT_RDWR);
	pthread_join(s->thread, NULL);
	close(s->fd);
}

/* ---- requests */

static struct posts *
open_posts(const char *exceptions)
{
	struct address_list l;
	struct posts *p = NULL;
	struct err e = { 0 };

	assert_int_equal(address_list_parse(exceptions, &l, &e), 0);
	assert_int_equal(posts_open(&l, &p, &e), 0);
	return p;
}

static void
begin(struct posts *p, const char *id, const char *host, int port,
    int64_t timeout_ms)
{
	auto_free char *url = xasprintf("http://%s:%d/x", host, port);
	struct err e = { 0 };

	if (posts_begin(p,
		&(struct post){ .id = id,
		    .attempt = 3,
		    .url = url,
		    .body = "{}",
		    .headers =
			(const char *const[]){ "Sandlease-Event: test", NULL },
		    .timeout_ms = timeout_ms },
		&e) < 0)
		fail_msg("%s", e.msg);
}

static struct post_end
next_end(struct posts *p)
{
	int64_t until_ms = clock_ms() + PATIENCE_MS;
	struct err e = { 0 };
	struct post_end end;

	while (!posts_take_ended(p, &end)) {
		if (clock_left_ms(until_ms) == 0)
			fail_msg("no request ends");
		assert_int_equal(posts_wait(p, -1, PATIENCE_MS, &e), 0);
	}
	return end;
}

/* Sends one request to a server that answers so. */
static struct post_end
answer_of(const char *answer, size_t zeros, int *requests)
{
	struct posts *p = open_posts("127.0.0.1");
	struct server s;
	struct post_end end;

	begin_server(&s, answer);
	s.zeros = zeros;
	begin(p, "a", "127.0.0.1", s.port, PATIENCE_MS);
	end = next_end(p);
	posts_close(p);
	end_server(&s);
	if (requests != NULL)
		*requests = s.requests;
	return end;
}

static void
a_request_says_what_it_was_given(void **state)
{
	struct posts *p = open_posts("127.0.0.1");
	struct server s;
	struct post_end end;

	(void)state;
	setenv("http_proxy", "http://127.0.0.1:1", 1);
	begin_server(&s, "HTTP/1.1 204 No Content\r\n\r\n");
	begin(p, "abc", "127.0.0.1", s.port, PATIENCE_MS);
	assert_int_equal(posts_count(p), 1);
	end = next_end(p);
	assert_string_equal(end.id, "abc");
	assert_int_equal(end.attempt, 3);
	assert_int_equal(end.status, 204);
	assert_null(end.error);
	assert_int_equal(posts_count(p), 0);
	posts_close(p);
	end_server(&s);
	unsetenv("http_proxy");
	assert_true(str_starts(s.request, "POST /x HTTP/1.1\r\n"));
	assert_non_null(strstr(s.request, "\r\nSandlease-Event: test\r\n"));
	assert_non_null(
	    strstr(s.request, "\r\nUser-Agent: Sandlease/" PACKAGE_VERSION));
	assert_non_null(strstr(s.request, "\r\n\r\n{}"));
	assert_null(strstr(s.request, "Expect"));
}

static void
an_answer_is_its_status(void **state)
{
	static const struct {
		const char *answer;
		int status;
		const char *error;
	} CASES[] = {
		{ "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 200 },
		{ "HTTP/1.0 500 Oops\r\n\r\n", 500 },
		/* the rest of it is missing */
		{ "HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\nok", 200 },
		{ "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201 Made\r\n\r\n",
		    201 },
		{ "HTTP/1.1 100 Continue\r\n\r\n", 0,
		    "the server closed the connection" },
		{ "", 0, "the server closed the connection" },
		{ "SSH-2.0-OpenSSH\r\n", 0, "the answer is not one of HTTP" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct post_end end = answer_of(CASES[i].answer, 0, NULL);

		assert_int_equal(end.status, CASES[i].status);
		if (CASES[i].error == NULL)
			assert_null(end.error);
		else
			assert_string_equal(end.error, CASES[i].error);
	}
}

static void
a_redirect_is_not_followed(void **state)
{
	int requests = 0;

	(void)state;
	for (int status = 301; status <= 308; status++) {
		auto_free char *answer = xasprintf(
		    "HTTP/1.1 %d Else\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n",
		    status);

		if (status > 303 && status < 307)
			continue;
		assert_int_equal(answer_of(answer, 0, &requests).status,
		    status);
		assert_int_equal(requests, 1);
	}
}

/* The server could send for ever: the request ends because we end it. */
static void
an_answer_without_end_is_cut(void **state)
{
	(void)state;
	assert_int_equal(
	    answer_of("HTTP/1.1 200 OK\r\n\r\n", SIZE_MAX, NULL).status, 200);
}

static void
only_public_addresses_are_connected_to(void **state)
{
	static const char *const HOSTS[] = { "127.0.0.1", "inside.test",
		"[::1]", "[::ffff:127.0.0.1]", "0.0.0.0" };
	struct posts *p = open_posts("127.0.0.2");
	struct server s;

	(void)state;
	begin_server(&s, "HTTP/1.1 200 OK\r\n\r\n");
	for (size_t i = 0; i < ARRAY_LEN(HOSTS); i++) {
		struct post_end end;

		begin(p, HOSTS[i], HOSTS[i], s.port, PATIENCE_MS);
		end = next_end(p);
		assert_int_equal(end.status, 0);
		assert_string_equal(end.error, "its address is not public");
	}
	posts_close(p);
	p = open_posts("127.0.0.1");
	begin(p, "a", "inside.test", s.port, PATIENCE_MS);
	assert_int_equal(next_end(p).status, 200);
	posts_close(p);
	end_server(&s);
	assert_int_equal(s.requests, 1);
}

/* wait: the limit of the mute ones; how long it really takes is not asked */
enum { SHORT_MS = 300 };

static void
what_does_not_answer_holds_up_nothing_else(void **state)
{
	struct posts *p = open_posts("127.0.0.1");
	struct server mute, quick;
	struct post_end end;
	int64_t began_ms;

	(void)state;
	begin_server(&mute, NULL);
	begin_server(&quick, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
	begin(p, "name", "mute.test", 80, PATIENCE_MS);
	begin(p, "server", "127.0.0.1", mute.port, PATIENCE_MS);
	begin(p, "quick", "127.0.0.1", quick.port, PATIENCE_MS);
	end = next_end(p);
	assert_string_equal(end.id, "quick");
	assert_int_equal(end.status, 200);
	begin(p, "short name", "mute.test", 80, SHORT_MS);
	begin(p, "short server", "127.0.0.1", mute.port, SHORT_MS);
	began_ms = clock_ms();
	for (int i = 0; i < 2; i++) {
		end = next_end(p);
		assert_true(str_starts(end.id, "short"));
		assert_string_equal(end.error, "there was no answer in time");
	}
	/* wait: the lookup never ends, so one that is waited for hangs */
	assert_true(clock_ms() - began_ms < PATIENCE_MS);
	assert_true(posts_take_open(p, &end));
	assert_string_equal(end.id, "name");
	assert_true(posts_take_open(p, &end));
	assert_false(posts_take_open(p, &end));
	posts_close(p);
	end_server(&mute);
	end_server(&quick);
}

static void
a_wait_ends_when_something_can_be_read(void **state)
{
	struct posts *p = open_posts("");
	struct err e = { 0 };
	struct post_end end;
	int64_t began_ms = clock_ms();
	int fds[2];

	(void)state;
	assert_int_equal(pipe(fds), 0);
	assert_int_equal(write(fds[1], "x", 1), 1);
	assert_int_equal(posts_wait(p, fds[0], PATIENCE_MS, &e), 0);
	/* wait: it would last PATIENCE_MS */
	assert_true(clock_ms() - began_ms < PATIENCE_MS);
	assert_false(posts_take_ended(p, &end));
	begin(p, "a", "unknown.test", 80, PATIENCE_MS);
	assert_string_equal(next_end(p).error, "the name cannot be resolved");
	posts_close(p);
	close(fds[0]);
	close(fds[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_request_says_what_it_was_given),
		cmocka_unit_test(an_answer_is_its_status),
		cmocka_unit_test(a_redirect_is_not_followed),
		cmocka_unit_test(an_answer_without_end_is_cut),
		cmocka_unit_test(only_public_addresses_are_connected_to),
		cmocka_unit_test(what_does_not_answer_holds_up_nothing_else),
		cmocka_unit_test(a_wait_ends_when_something_can_be_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
