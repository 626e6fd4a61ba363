/* stream_test.c: tests when a lost stream is asked for again, and when not. */
#include "t/unit/unit.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/http/stream.h"
#include "common/mem.h"

static bool
hear(void *ctx, const char *name, const char *data, size_t len)
{
	(void)ctx;
	(void)name;
	(void)data;
	(void)len;
	return true;
}

static void
count_losses(void *ctx, bool lost)
{
	*(int *)ctx += lost;
}

/* Binds a port without listening, so that no other program listens there. */
static int
reserve_port(int *port)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, len), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&a, &len), 0);
	*port = ntohs(a.sin_port);
	return fd;
}

/* How often the connection was lost before the client gave the stream up. */
static int
follow_nobody(const json_t *body, struct err *e)
{
	int port, losses = 0, turns = 0;
	auto_fd int fd = reserve_port(&port);
	struct config config = { .url = xasprintf("http://127.0.0.1:%d", port),
		.key = xstrdup("any") };
	struct client *c = client_new(&config);
	struct stream s = { .client = c,
		.path = "/",
		.body = body,
		.told = count_losses,
		.sse = { .event = hear, .ctx = &losses } };

	assert_int_equal(stream_wait_ms(&s), 0);
	while (stream_move(&s, e) == 0) {
		assert_true(++turns < 100); /* the stream pauses */
		client_wait(c, NULL, 0, stream_wait_ms(&s));
	}
	stream_free(&s);
	client_free(c);
	return losses;
}

static void
one_that_stays_away_is_given_up(void **state)
{
	struct err e = { 0 };

	(void)state;
	assert_int_equal(follow_nobody(NULL, &e), 1);
	assert_code(e.code, CODE_UNREACHABLE);
}

static void
a_post_is_not_done_again(void **state)
{
	auto_json json_t *body = json_object();
	struct err e = { 0 };

	(void)state;
	assert_int_equal(follow_nobody(body, &e), 0);
	assert_code(e.code, CODE_UNREACHABLE);
}

static void
never_is_later_than_any_time(void **state)
{
	(void)state;
	assert_int_equal(client_sooner(-1, -1), -1);
	assert_int_equal(client_sooner(-1, 5), 5);
	assert_int_equal(client_sooner(5, -1), 5);
	assert_int_equal(client_sooner(5, 0), 0);
	assert_int_equal(client_sooner(3, 5), 3);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_stays_away_is_given_up),
		cmocka_unit_test(a_post_is_not_done_again),
		cmocka_unit_test(never_is_later_than_any_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
