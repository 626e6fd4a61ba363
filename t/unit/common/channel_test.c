/* channel_test.c: tests messages of one JSON object and a few descriptors. */
#include "../unit.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/mem.h"

struct pair {
	int near, far;
};

static int
open_pair(void **state)
{
	static struct pair p;
	int fds[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return -1;
	p = (struct pair){ fds[0], fds[1] };
	*state = &p;
	return 0;
}

static int
close_pair(void **state)
{
	struct pair *p = *state;

	mem_close_fd(&p->near);
	mem_close_fd(&p->far);
	return 0;
}

static int
receive(int sock, json_t **msg, struct channel_fds *fds, struct err *e)
{
	return channel_recv(sock, clock_ms() + PATIENCE_MS, msg, fds, e);
}

static size_t
open_descriptors(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	assert_non_null(d);
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n;
}

static void
a_message_arrives_with_its_descriptors(void **state)
{
	auto_json json_t *sent = json_pack("{s:s}", "op", "launch");
	auto_json json_t *got = NULL;
	auto_fds struct channel_fds fds = { .count = 0 };
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	auto_fd int file = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct pair *p = *state;
	struct stat st;
	struct err e = { 0 };
	int taken;

	assert_int_equal(
	    channel_send(p->near, sent, (int[]){ null, file }, 2, &e), 0);
	assert_int_equal(receive(p->far, &got, &fds, &e), 0);
	assert_string_equal(json_str(got, "op"), "launch");
	assert_int_equal(fds.count, 2);
	assert_int_equal(fcntl(fds.fd[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fds.fd[1], &st), 0);
	assert_true(S_ISDIR(st.st_mode));
	taken = channel_fds_take(&fds, 0);
	assert_true(taken >= 0);
	assert_int_equal(channel_fds_take(&fds, 0), -1);
	assert_int_equal(channel_fds_take(&fds, 2), -1);
	close(taken);
}

static void
messages_do_not_run_together(void **state)
{
	struct pair *p = *state;
	struct err e = { 0 };

	for (int i = 0; i < 3; i++) {
		auto_json json_t *m = json_pack("{s:i}", "n", i);

		assert_int_equal(channel_send(p->near, m, NULL, 0, &e), 0);
	}
	for (int i = 0; i < 3; i++) {
		auto_json json_t *m = NULL;
		auto_fds struct channel_fds fds = { .count = 0 };

		assert_int_equal(receive(p->far, &m, &fds, &e), 0);
		assert_int_equal(json_integer_value(json_object_get(m, "n")),
		    i);
		assert_int_equal(fds.count, 0);
	}
}

static void
silence_ends_at_the_deadline(void **state)
{
	auto_json json_t *m = NULL;
	auto_fds struct channel_fds fds = { .count = 0 };
	struct pair *p = *state;
	struct err e = { 0 };

	assert_int_equal(channel_recv(p->far, clock_ms(), &m, &fds, &e), -1);
	assert_code(e.code, CODE_TIMED_OUT);
	assert_int_equal(e.kind, ERR_UNAVAILABLE);
}

static void
a_closed_peer_is_told_from_a_slow_one(void **state)
{
	auto_json json_t *m = json_object();
	auto_json json_t *got = NULL;
	auto_fds struct channel_fds fds = { .count = 0 };
	struct pair *p = *state;
	struct err e = { 0 };

	mem_close_fd(&p->near);
	assert_int_equal(receive(p->far, &got, &fds, &e), -1);
	assert_code(e.code, CODE_PEER_CLOSED);
	assert_int_equal(channel_send(p->far, m, NULL, 0, &e), -1);
	assert_code(e.code, CODE_PEER_CLOSED);
}

static void
too_much_is_refused_by_the_sender(void **state)
{
	auto_free char *big = xcalloc(1, CHANNEL_MSG_MAX + 1);
	auto_json json_t *m = NULL;
	struct pair *p = *state;
	struct err e = { 0 };
	int many[CHANNEL_FDS_MAX + 1] = { 0 };

	memset(big, 'x', CHANNEL_MSG_MAX);
	m = json_string(big);
	assert_int_equal(channel_send(p->near, m, NULL, 0, &e), -1);
	assert_code(e.code, CODE_MESSAGE_TOO_LARGE);
	json_release(&m);
	m = json_object();
	assert_int_equal(channel_send(p->near, m, many, ARRAY_LEN(many), &e),
	    -1);
	assert_code(e.code, CODE_MESSAGE_TOO_LARGE);
}

/* Sends what channel_send() refuses: any bytes, any number of descriptors. */
static void
send_raw(int sock, const void *bytes, size_t len, int fd, size_t count)
{
	enum { MANY = 32 };
	union {
		char bytes[CMSG_SPACE(sizeof(int) * MANY)];
		struct cmsghdr align;
	} c = { { 0 } };
	int fds[MANY];
	struct iovec io = { .iov_base = (void *)(uintptr_t)bytes,
		.iov_len = len };
	struct msghdr m = { .msg_iov = &io,
		.msg_iovlen = 1,
		.msg_control = count > 0 ? c.bytes : NULL,
		.msg_controllen =
		    count > 0 ? CMSG_SPACE(sizeof(int) * count) : 0 };

	assert_true(count <= MANY);
	for (size_t i = 0; i < count; i++)
		fds[i] = fd;
	if (count > 0) {
		struct cmsghdr *h = &c.align;

		h->cmsg_level = SOL_SOCKET;
		h->cmsg_type = SCM_RIGHTS;
		h->cmsg_len = CMSG_LEN(sizeof(int) * count);
		memcpy(CMSG_DATA(h), fds, sizeof(int) * count);
	}
	assert_true(sendmsg(sock, &m, 0) >= 0);
}

static void
a_hostile_peer_costs_no_descriptor(void **state)
{
	enum { TOO_LONG = CHANNEL_MSG_MAX + 10 };
	static const struct {
		const char *text;
		size_t len, fds;
		enum err_code code;
	} CASES[] = {
		{ "{}", 2, CHANNEL_FDS_MAX + 3, CODE_MESSAGE_TOO_LARGE },
		{ NULL, TOO_LONG, 2, CODE_MESSAGE_TOO_LARGE },
		{ "not json", 8, 3, CODE_VALIDATION_FAILED },
		{ "{\"a\":\0}", 7, 1, CODE_VALIDATION_FAILED },
		{ "{", 1, 0, CODE_VALIDATION_FAILED },
	};
	auto_free char *zeros = xcalloc(1, TOO_LONG);
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct pair *p = *state;
	size_t before = open_descriptors();

	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		auto_json json_t *m = NULL;
		auto_fds struct channel_fds fds = { .count = 0 };
		struct err e = { 0 };

		send_raw(p->near, CASES[i].text != NULL ? CASES[i].text : zeros,
		    CASES[i].len, null, CASES[i].fds);
		assert_int_equal(receive(p->far, &m, &fds, &e), -1);
		assert_code(e.code, CASES[i].code);
		assert_null(m);
		assert_int_equal(fds.count, 0);
	}
	assert_int_equal(open_descriptors(), before);
}

/* ---- sockets with names */

static void
a_listener_replaces_a_dead_one_and_lets_the_group_in(void **state)
{
	char dir[] = "/tmp/channel_test.XXXXXX", path[64];
	auto_fd int server = -1;
	auto_fd int client = -1;
	struct err e = { 0 };
	struct stat st;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	assert_int_equal(channel_connect(path, &e), -1);
	assert_code(e.code, CODE_NOT_LISTENING);
	server = channel_listen(path, SOCK_SEQPACKET, &e);
	assert_true(server >= 0);
	mem_close_fd(&server);
	assert_int_equal(channel_connect(path, &e), -1);
	assert_code(e.code, CODE_NOT_LISTENING);
	server = channel_listen(path, SOCK_SEQPACKET, &e);
	assert_true(server >= 0);
	assert_int_equal(stat(path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0660);
	assert_int_equal(fcntl(server, F_GETFD), FD_CLOEXEC);
	client = channel_connect(path, &e);
	assert_true(client >= 0);
	assert_int_equal(fcntl(client, F_GETFD), FD_CLOEXEC);
	unlink(path);
	rmdir(dir);
}

/*
 * Exits with 0 if every failure was "try again", because the other process was
 * taking the name, too.
 */
static void
take_again_and_again(const char *path)
{
	enum { TIMES = 3000 };

	for (int i = 0; i < TIMES; i++) {
		struct err e = { 0 };
		auto_fd int server = channel_listen(path, SOCK_STREAM, &e);

		if (server < 0 && e.code != CODE_TRY_AGAIN)
			_exit(1);
	}
	_exit(0);
}

static void
two_who_take_a_name_at_once_are_told_to_try_again(void **state)
{
	enum { TAKERS = 2 };
	char dir[] = "/tmp/channel_test.XXXXXX", path[64];
	int status;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/x", dir);
	for (int i = 0; i < TAKERS; i++)
		if (fork() == 0)
			take_again_and_again(path);
	for (int i = 0; i < TAKERS; i++) {
		assert_true(wait(&status) > 0);
		assert_int_equal(status, 0);
	}
	unlink(path);
	rmdir(dir);
}

static void
one_who_accepts_nobody_is_not_waited_for(void **state)
{
	enum { TOO_MANY = 8 };
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	char dir[] = "/tmp/channel_test.XXXXXX";
	auto_fd int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct err e = { 0 };
	int client, count = 0;

	(void)state;
	assert_non_null(mkdtemp(dir));
	snprintf(a.sun_path, sizeof(a.sun_path), "%s/x", dir);
	assert_int_equal(bind(server, (const struct sockaddr *)&a, sizeof(a)),
	    0);
	assert_int_equal(listen(server, 1), 0);
	alarm(PATIENCE_MS / 1000); /* so that the test does not wait for ever */
	while ((client = channel_connect(a.sun_path, &e)) >= 0) {
		assert_true(count++ < TOO_MANY);
		assert_int_equal(fcntl(client, F_GETFL) & O_NONBLOCK, 0);
		close(client);
	}
	alarm(0);
	assert_true(count > 0);
	assert_code(e.code, CODE_TIMED_OUT);
	unlink(a.sun_path);
	rmdir(dir);
}

static void
a_name_that_is_too_long_is_an_error(void **state)
{
	char path[128];
	struct err e = { 0 };

	(void)state;
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_int_equal(channel_listen(path, SOCK_STREAM, &e), -1);
	assert_non_null(strstr(e.msg, "longer than a unix socket"));
	assert_int_equal(channel_connect(path, &e), -1);
}

#define PAIRED(t) cmocka_unit_test_setup_teardown(t, open_pair, close_pair)

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		PAIRED(a_message_arrives_with_its_descriptors),
		PAIRED(messages_do_not_run_together),
		PAIRED(silence_ends_at_the_deadline),
		PAIRED(a_closed_peer_is_told_from_a_slow_one),
		PAIRED(too_much_is_refused_by_the_sender),
		PAIRED(a_hostile_peer_costs_no_descriptor),
		cmocka_unit_test(
		    a_listener_replaces_a_dead_one_and_lets_the_group_in),
		cmocka_unit_test(
		    two_who_take_a_name_at_once_are_told_to_try_again),
		cmocka_unit_test(one_who_accepts_nobody_is_not_waited_for),
		cmocka_unit_test(a_name_that_is_too_long_is_an_error),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
