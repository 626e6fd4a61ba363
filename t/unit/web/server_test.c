/* server_test.c: tests where calls come from; here plain CGI. */
#include "../unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "web/server.h"

static const char NGINX_ID[] = "0123456789abcdef0123456789abcdef";

static int
clear_environment(void **state)
{
	static const char *const NAMES[] = { "REQUEST_METHOD", "PATH_INFO",
		"REQUEST_URI", "SL_PATH", "SL_REQUEST_ID", "HTTP_X_TRACE_ID",
		"HTTP_TRACEPARENT", "CONTENT_LENGTH" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
		unsetenv(NAMES[i]);
	return 0;
}

static void
a_call_is_made_of_the_environment(void **state)
{
	struct call c;

	(void)state;
	setenv("REQUEST_METHOD", "POST", 1);
	setenv("PATH_INFO", "/v1/live", 1);
	setenv("SL_REQUEST_ID", NGINX_ID, 1);
	server_cgi(&c);
	assert_string_equal(c.method, "POST");
	assert_string_equal(c.path, "/v1/live");
	assert_string_equal(c.request_id, NGINX_ID);
	assert_string_equal(c.trace_id, NGINX_ID);
	call_release(&c);
}

static void
the_path_of_nginx_wins(void **state)
{
	struct call c;

	(void)state;
	setenv("PATH_INFO", "/wrong", 1);
	setenv("REQUEST_URI", "/worse", 1);
	setenv("SL_PATH", "/right", 1);
	server_cgi(&c);
	assert_string_equal(c.path, "/right");
	assert_string_equal(c.method, "");
	call_release(&c);
}

static void
a_request_without_an_id_gets_one(void **state)
{
	static const char *const BAD[] = { "", "NOT-HEX", "ab\ncd",
		"0123456789abcdef0123456789abcdef0" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		struct call c;

		setenv("SL_REQUEST_ID", BAD[i], 1);
		server_cgi(&c);
		assert_int_equal(strlen(c.request_id), ID_REQUEST_LEN);
		assert_string_not_equal(c.request_id, BAD[i]);
		call_release(&c);
	}
}

static void
a_harmless_trace_id_is_kept(void **state)
{
	static const struct {
		const char *name, *value;
		bool kept;
	} CASES[] = {
		{ "HTTP_X_TRACE_ID", "my-trace_1.2", true },
		{ "HTTP_TRACEPARENT", "00-abc-def-01", true },
		{ "HTTP_X_TRACE_ID", "a b", false },
		{ "HTTP_X_TRACE_ID", "a\"b", false },
		{ "HTTP_X_TRACE_ID", "", false },
		{ "HTTP_X_TRACE_ID",
		    "0123456789012345678901234567890123456789012345678901234567890123",
		    false },
	};

	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct call c;

		clear_environment(state);
		setenv(CASES[i].name, CASES[i].value, 1);
		server_cgi(&c);
		assert_string_equal(c.trace_id,
		    CASES[i].kept ? CASES[i].value : c.request_id);
		call_release(&c);
	}
}

static void
plain_cgi_reads_what_was_declared_and_does_not_wait(void **state)
{
	auto_fd int saved = dup(STDIN_FILENO);
	auto_buf struct buf body = { 0 };
	struct err e = { 0 };
	struct call c;
	int ends[2];

	(void)state;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], "0123next", 8), 8);
	dup2(ends[0], STDIN_FILENO);
	setenv("CONTENT_LENGTH", "4", 1);
	server_cgi(&c);
	assert_int_equal(call_body(&c, 100, &body, &e), 0);
	assert_string_equal(body.data, "0123");
	call_release(&c);
	dup2(saved, STDIN_FILENO);
	close(ends[0]);
	close(ends[1]);
}

static void
fastcgi_means_a_listening_socket_on_0(void **state)
{
	auto_fd int saved = dup(STDIN_FILENO);
	auto_fd int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	auto_fd int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)state;
	dup2(null, STDIN_FILENO);
	assert_false(server_is_fastcgi());
	dup2(s, STDIN_FILENO);
	assert_false(server_is_fastcgi());
	assert_int_equal(listen(s, 1), -1); /* not bound to a name */
	assert_int_equal(bind(s, &(struct sockaddr){ .sa_family = AF_UNIX },
			     sizeof(sa_family_t)),
	    0);
	assert_int_equal(listen(s, 1), 0);
	assert_true(server_is_fastcgi());
	dup2(saved, STDIN_FILENO);
}

int
main(void)
{
	static const struct CMUnitTest TESTS[] = {
		cmocka_unit_test_setup(a_call_is_made_of_the_environment,
		    clear_environment),
		cmocka_unit_test_setup(the_path_of_nginx_wins,
		    clear_environment),
		cmocka_unit_test_setup(a_request_without_an_id_gets_one,
		    clear_environment),
		cmocka_unit_test(a_harmless_trace_id_is_kept),
		cmocka_unit_test_setup(
		    plain_cgi_reads_what_was_declared_and_does_not_wait,
		    clear_environment),
		cmocka_unit_test(fastcgi_means_a_listening_socket_on_0),
	};

	return cmocka_run_group_tests(TESTS, NULL, NULL);
}
