/* address_test.c: tests which addresses we connect to for tenants. */
#include "../unit.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/address.h"
#include "common/mem.h"
#include "common/str.h"

static struct address
parse(const char *text)
{
	struct address a;

	if (!address_parse(text, &a))
		fail_msg("%s is not an address", text);
	return a;
}

static bool
allows(const char *exceptions, const char *text)
{
	struct address a = parse(text);
	struct address_list l;
	struct err e = { 0 };

	assert_int_equal(address_list_parse(exceptions, &l, &e), 0);
	return address_allowed(&a, &l);
}

/* Ranges that are refused; the neighbours are public unless they are NULL. */
static const struct {
	const char *before, *first, *last, *after;
} RANGES[] = {
	{ NULL, "0.0.0.0", "0.255.255.255", "1.0.0.0" },
	{ "9.255.255.255", "10.0.0.0", "10.255.255.255", "11.0.0.0" },
	{ "100.63.255.255", "100.64.0.0", "100.127.255.255", "100.128.0.0" },
	{ "126.255.255.255", "127.0.0.0", "127.255.255.255", "128.0.0.0" },
	{ "168.63.129.15", "168.63.129.16", "168.63.129.16", "168.63.129.17" },
	{ "169.253.255.255", "169.254.0.0", "169.254.255.255", "169.255.0.0" },
	{ "172.15.255.255", "172.16.0.0", "172.31.255.255", "172.32.0.0" },
	{ "191.255.255.255", "192.0.0.0", "192.0.0.255", "192.0.1.0" },
	{ "192.0.1.255", "192.0.2.0", "192.0.2.255", "192.0.3.0" },
	{ "192.88.98.255", "192.88.99.0", "192.88.99.255", "192.88.100.0" },
	{ "192.167.255.255", "192.168.0.0", "192.168.255.255", "192.169.0.0" },
	{ "198.17.255.255", "198.18.0.0", "198.19.255.255", "198.20.0.0" },
	{ "198.51.99.255", "198.51.100.0", "198.51.100.255", "198.51.101.0" },
	{ "203.0.112.255", "203.0.113.0", "203.0.113.255", "203.0.114.0" },
	{ "223.255.255.255", "224.0.0.0", "239.255.255.255", NULL },
	{ NULL, "240.0.0.0", "255.255.255.255", NULL },
	/* IPv6: only 2000::/3 is public */
	{ NULL, "::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::" },
	{ "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	    "2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", "2001:200::" },
	{ "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db8::",
	    "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::" },
	{ "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	    "2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2003::" },
	{ "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	    "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::" },
	{ "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	    "4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", NULL },
};

static void
a_refused_range_ends_where_it_ends(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(RANGES); i++) {
		if (allows("", RANGES[i].first))
			fail_msg("%s is allowed", RANGES[i].first);
		if (allows("", RANGES[i].last))
			fail_msg("%s is allowed", RANGES[i].last);
		if (RANGES[i].before != NULL && !allows("", RANGES[i].before))
			fail_msg("%s is refused", RANGES[i].before);
		if (RANGES[i].after != NULL && !allows("", RANGES[i].after))
			fail_msg("%s is refused", RANGES[i].after);
	}
}

static void
no_way_to_write_a_private_address_is_allowed(void **state)
{
	static const char *const REFUSED[] = {
		"127.0.0.1",
		"169.254.169.254", /* metadata */
		"100.100.100.200", /* metadata of Alibaba */
		"192.0.0.192",     /* metadata of Oracle */
		"255.255.255.255",
		"::",
		"::1",
		/* mapped: connect() would use IPv4 */
		"::ffff:127.0.0.1",
		"::ffff:10.0.0.1",
		"::ffff:169.254.169.254",
		"::ffff:0.0.0.0",
		"::ffff:8.8.8.8",
		"::ffff:7f00:1",
		/* other forms that contain an IPv4 address */
		"::127.0.0.1",
		"::ffff:0:127.0.0.1",
		"64:ff9b::127.0.0.1",
		"64:ff9b::8.8.8.8",
		"64:ff9b:1::10.0.0.1",
		"2002:7f00:1::",
		"2002:a9fe:a9fe::1",
		"2002:808:808::1",
		"2001:0:808:808::1", /* Teredo */
		"fe80::1",
		"fe80::5efe:10.0.0.1",
		"febf:ffff::1",
		"fec0::1",
		"fc00::1",
		"fd00:ec2::254", /* metadata of EC2 */
		"fd20:ce::254",  /* metadata of Google */
		"fdff:ffff::1",
		"ff02::1",
		"ff0e::1",
		"100::1",
		"5f00::1",
	};
	static const char *const ALLOWED[] = { "8.8.8.8", "1.1.1.1",
		"2606:4700:4700::1111", "2a00:1450:4001:80b::200e",
		"2001:4860:4860::8888" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(REFUSED); i++)
		if (allows("", REFUSED[i]))
			fail_msg("%s is allowed", REFUSED[i]);
	for (size_t i = 0; i < ARRAY_LEN(ALLOWED); i++)
		if (!allows("", ALLOWED[i]))
			fail_msg("%s is refused", ALLOWED[i]);
}

static void
an_exception_allows_its_range_and_no_more(void **state)
{
	static const struct {
		const char *exceptions, *address;
		bool allowed;
	} CASES[] = {
		{ "10.1.2.0/24", "10.1.2.0", true },
		{ "10.1.2.0/24", "10.1.2.255", true },
		{ "10.1.2.0/24", "10.1.1.255", false },
		{ "10.1.2.0/24", "10.1.3.0", false },
		{ "10.1.2.77/24", "10.1.2.1", true },
		{ "10.1.2.0/23", "10.1.3.255", true },
		{ "10.1.2.0/23", "10.1.4.0", false },
		{ "10.1.2.3", "10.1.2.3", true },
		{ "10.1.2.3", "10.1.2.2", false },
		{ "10.1.2.3/32", "10.1.2.3", true },
		{ "10.1.2.3/31", "10.1.2.2", true },
		{ "0.0.0.0/0", "127.0.0.1", true },
		{ "0.0.0.0/0", "::1", false },
		{ "0.0.0.0/1", "127.0.0.1", true },
		{ "0.0.0.0/1", "192.168.0.1", false },
		{ " 10.0.0.1 ,,fd00::1, ", "fd00::1", true },
		{ " 10.0.0.1 ,,fd00::1, ", "10.0.0.1", true },
		{ "10.0.0.1 10.0.0.2", "10.0.0.2", true },
		{ "fd00::/8", "fdff::1", true },
		{ "fd00::/8", "fc00::1", false },
		{ "fd00::/9", "fd7f::1", true },
		{ "fd00::/9", "fd80::1", false },
		{ "fd00::1/128", "fd00::1", true },
		{ "fd00::1/128", "fd00::2", false },
		{ "::/0", "fd00::1", true },
		{ "::/0", "10.0.0.1", false },
		/* an IPv4 address is written as one, or not meant */
		{ "10.0.0.1", "::ffff:10.0.0.1", false },
		{ "::/0", "::ffff:10.0.0.1", false },
		{ "::ffff:10.0.0.1", "10.0.0.1", false },
		{ "::ffff:10.0.0.1", "::ffff:10.0.0.1", false },
		/* public addresses need none */
		{ "10.0.0.1", "8.8.8.8", true },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++)
		if (allows(CASES[i].exceptions, CASES[i].address) !=
		    CASES[i].allowed)
			fail_msg("\"%s\" and %s", CASES[i].exceptions,
			    CASES[i].address);
}

static void
a_list_of_exceptions_is_checked(void **state)
{
	static const char *const BAD[] = { "x", "10.0.0.0/33", "10.0.0.0/",
		"10.0.0.0/-1", "10.0.0.0/ 8", "10.0.0.0/8/8", "/8", "10.0.0",
		"10.0.0.0.0", "010.0.0.0/8", "10.0.0.0/8x", "::/129", "::/",
		"fe80::1%lo", "[::1]", "10.0.0.1:80", "10.0.0.1\t10.0.0.2",
		"10.0.0.1;10.0.0.2", "localhost", "10.0.0.1-10.0.0.9",
		"10.0.0.0/99999999999999999999",
		"1111:1111:1111:1111:1111:1111:1111:1111:1111:1111" };
	auto_buf struct buf many = { 0 };
	struct address_list l;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(address_list_parse("", &l, &e), 0);
	assert_int_equal(l.count, 0);
	assert_int_equal(address_list_parse(" , ", &l, &e), 0);
	assert_int_equal(l.count, 0);
	for (size_t i = 0; i < ARRAY_LEN(BAD); i++) {
		if (address_list_parse(BAD[i], &l, &e) == 0)
			fail_msg("\"%s\" is accepted", BAD[i]);
		assert_code(e.code, CODE_BAD_SETTING);
	}
	for (int i = 0; i < ADDRESS_LIST_MAX; i++)
		buf_fmt(&many, "10.0.0.%d,", i);
	assert_int_equal(address_list_parse(many.data, &l, &e), 0);
	assert_int_equal(l.count, ADDRESS_LIST_MAX);
	buf_str(&many, "10.1.0.0");
	assert_int_equal(address_list_parse(many.data, &l, &e), -1);
}

static void
an_address_has_one_form_as_text_and_for_connect(void **state)
{
	static const struct {
		const char *text, *form; /* NULL: none */
		int family;
	} CASES[] = {
		{ "8.8.8.8", "8.8.8.8", AF_INET },
		{ "2001:DB8:0:0::1", "2001:db8::1", AF_INET6 },
		{ "::ffff:8.8.8.8", "::ffff:8.8.8.8", AF_INET6 },
		{ "8.8.8", NULL, 0 },
		{ "8.8.8.08", NULL, 0 },
		{ "0x08080808", NULL, 0 },
		{ "", NULL, 0 },
		{ " 8.8.8.8", NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		struct sockaddr_storage to;
		char text[ADDRESS_TEXT_MAX], host[ADDRESS_TEXT_MAX] = "";
		struct address a;

		if (address_parse(CASES[i].text, &a) != (CASES[i].form != NULL))
			fail_msg("\"%s\"", CASES[i].text);
		if (CASES[i].form == NULL)
			continue;
		address_print(&a, text);
		assert_string_equal(text, CASES[i].form);
		if (address_socket(&a, 443, &to) == sizeof(struct sockaddr_in))
			inet_ntop(AF_INET,
			    &((struct sockaddr_in *)&to)->sin_addr, host,
			    sizeof(host));
		else
			inet_ntop(AF_INET6,
			    &((struct sockaddr_in6 *)&to)->sin6_addr, host,
			    sizeof(host));
		assert_string_equal(host, CASES[i].form);
		assert_int_equal(to.ss_family, CASES[i].family);
		/* the port is at the same place in both */
		assert_int_equal(ntohs(((struct sockaddr_in *)&to)->sin_port),
		    443);
	}
}

static bool
is_ours(const char *text)
{
	struct address a = parse(text);

	return address_is_ours(&a);
}

static void
this_machine_knows_its_own_addresses(void **state)
{
	(void)state;
	assert_true(is_ours("127.0.0.1"));
	assert_true(is_ours("127.0.0.2"));
	assert_false(is_ours("8.8.8.8"));
	assert_false(is_ours("2001:4860:4860::8888"));
}

/* Gives the loopback device 1.2.3.4/24 and, second, 1.2.3.5/24. */
static bool
add_addresses(void)
{
	auto_fd int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	static const char *const NAMES[] = { "lo", "lo:1" };
	static const char *const ADDRESSES[] = { "1.2.3.4", "1.2.3.5" };

	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		struct sockaddr_in a = { .sin_family = AF_INET };
		struct ifreq r = { 0 };

		snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", NAMES[i]);
		inet_pton(AF_INET, ADDRESSES[i], &a.sin_addr);
		memcpy(&r.ifr_addr, &a, sizeof(a));
		if (ioctl(fd, SIOCSIFADDR, &r) < 0)
			return false;
		inet_pton(AF_INET, "255.255.255.0", &a.sin_addr);
		memcpy(&r.ifr_netmask, &a, sizeof(a));
		if (ioctl(fd, SIOCSIFNETMASK, &r) < 0)
			return false;
		r.ifr_flags = IFF_UP;
		if (i == 0 && ioctl(fd, SIOCSIFFLAGS, &r) < 0)
			return false;
	}
	return true;
}

static bool
may_connect(const char *exceptions, const char *text)
{
	struct address a = parse(text);
	struct address_list l;
	struct err e = { 0 };

	assert_int_equal(address_list_parse(exceptions, &l, &e), 0);
	return address_may_connect(&a, &l);
}

static void
public_addresses_and_exceptions_may_be_connected_to(void **state)
{
	(void)state;
	assert_true(may_connect("", "8.8.8.8"));
	assert_false(may_connect("", "127.0.0.1"));
	assert_false(may_connect("127.0.0.2", "127.0.0.1"));
	assert_true(may_connect("127.0.0.0/8", "127.0.0.1"));
	assert_false(may_connect("127.0.0.0/8", "::ffff:127.0.0.1"));
}

enum { IS_RIGHT, IS_WRONG, CANNOT_TRY };

static int
try_second_address(void)
{
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || !add_addresses())
		return CANNOT_TRY;
	return is_ours("1.2.3.4") && is_ours("1.2.3.5") &&
		!may_connect("", "1.2.3.5") && may_connect("1.2.3.5", "1.2.3.5")
	    ? IS_RIGHT
	    : IS_WRONG;
}

static void
a_second_address_of_an_interface_is_ours_too(void **state)
{
	int status = 0;
	pid_t child;

	(void)state;
	child = fork();
	assert_true(child >= 0);
	if (child == 0)
		_exit(try_second_address());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == CANNOT_TRY)
		skip(); /* no network namespace for this user */
	assert_int_equal(WEXITSTATUS(status), IS_RIGHT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_refused_range_ends_where_it_ends),
		cmocka_unit_test(no_way_to_write_a_private_address_is_allowed),
		cmocka_unit_test(an_exception_allows_its_range_and_no_more),
		cmocka_unit_test(a_list_of_exceptions_is_checked),
		cmocka_unit_test(
		    an_address_has_one_form_as_text_and_for_connect),
		cmocka_unit_test(this_machine_knows_its_own_addresses),
		cmocka_unit_test(
		    public_addresses_and_exceptions_may_be_connected_to),
		cmocka_unit_test(a_second_address_of_an_interface_is_ours_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
