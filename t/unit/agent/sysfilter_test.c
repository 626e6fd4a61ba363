/*
 * sysfilter_test.c: tests the answers of the system call filter, for every
 * architecture it knows.
 *
 * The test runs the filter program as the kernel does, so that calls of 32-bit
 * programs can be tested on a machine that has none.
 */
#include "../unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

#include "common/mem.h"

static const struct sock_filter PROGRAM[] = {
#include "agent/base/sysfilter_table.h"
};
static const struct sock_filter ROOT_PROGRAM[] = {
#include "agent/base/sysfilter_root_table.h"
};

/* The calls of this test, by each architecture's numbers. */
struct arch {
	uint32_t audit;
	int socket, socketpair, io_setup, fanotify_init, setsockopt;
	int fchownat, setgroups;
};

#if defined(__x86_64__)
enum { X32 = 0x40000000 };
static const struct arch ARCHES[] = {
	{ AUDIT_ARCH_X86_64, 41, 53, 206, 300, 54, 260, 116 },
	{ AUDIT_ARCH_X86_64, X32 + 41, X32 + 53, X32 + 543, X32 + 300,
	    X32 + 541, X32 + 260, X32 + 116 },
	{ AUDIT_ARCH_I386, 359, 360, 245, 338, 366, 298, 206 },
};
#elif defined(__aarch64__)
static const struct arch ARCHES[] = {
	{ AUDIT_ARCH_AARCH64, 198, 199, 0, 262, 208, 54, 159 },
	{ AUDIT_ARCH_ARM, 281, 288, 243, 367, 294, 325, 206 },
};
#else
static const struct arch ARCHES[] = { { 0 } };
#endif

static bool
jumps(const struct sock_filter *f, uint32_t a)
{
	switch (BPF_OP(f->code)) {
	case BPF_JEQ:
		return a == f->k;
	case BPF_JGT:
		return a > f->k;
	case BPF_JGE:
		return a >= f->k;
	case BPF_JSET:
		return (a & f->k) != 0;
	default:
		fail_msg("a jump that is not known: 0x%x", f->code);
	}
	return false;
}

/* seccomp knows these instructions of socket filters; ours needs no others. */
static uint32_t
run_program(const struct sock_filter *program, size_t count,
    const struct seccomp_data *d)
{
	uint32_t a = 0;

	for (size_t at = 0; at < count; at++) {
		const struct sock_filter *f = &program[at];

		switch (f->code) {
		case BPF_LD | BPF_W | BPF_ABS:
			assert_true(f->k + sizeof(a) <= sizeof(*d));
			memcpy(&a, (const char *)d + f->k, sizeof(a));
			break;
		case BPF_ALU | BPF_AND | BPF_K:
			a &= f->k;
			break;
		case BPF_JMP | BPF_JA:
			at += f->k;
			break;
		case BPF_RET | BPF_K:
			return f->k;
		default:
			at += jumps(f, a) ? f->jt : f->jf;
		}
	}
	fail_msg("the program has no end");
	return 0;
}

static uint32_t
answer(const struct arch *a, int nr, uint64_t x, uint64_t y, uint64_t z)
{
	struct seccomp_data d = { .nr = nr,
		.arch = a->audit,
		.args = { x, y, z } };

	return run_program(PROGRAM, ARRAY_LEN(PROGRAM), &d);
}

static bool
is_open(uint64_t family, uint64_t protocol)
{
	switch ((uint32_t)family) {
	case AF_UNIX:
	case AF_INET:
	case AF_INET6:
		return true;
	case AF_NETLINK:
		return (uint32_t)protocol == NETLINK_ROUTE;
	default:
		return false;
	}
}

static void
judge(const struct arch *a, uint64_t family, uint64_t protocol)
{
	uint32_t want = is_open(family, protocol)
	    ? SECCOMP_RET_ALLOW
	    : SECCOMP_RET_ERRNO | EAFNOSUPPORT;

	assert_int_equal(answer(a, a->socket, family, SOCK_DGRAM, protocol),
	    want);
	assert_int_equal(answer(a, a->socketpair, family, SOCK_DGRAM, protocol),
	    want);
}

static void
four_families_are_open_and_no_other(void **state)
{
	/* the kernel ignores these bits of the register: they change nothing */
	static const uint64_t UNSEEN[] = { 0, 1ULL << 32, ~0ULL << 32 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ARCHES); i++)
		for (size_t u = 0; u < ARRAY_LEN(UNSEEN); u++) {
			for (uint64_t f = 0; f < 1024; f++)
				judge(&ARCHES[i], UNSEEN[u] | f, 0);
			for (int b = 0; b < 32; b++)
				judge(&ARCHES[i],
				    UNSEEN[u] | 1ULL << b | AF_UNIX, 0);
		}
}

static void
of_netlink_the_routes_are_open_and_nothing_else(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ARCHES); i++) {
		for (uint64_t p = 0; p < 64; p++)
			judge(&ARCHES[i], AF_NETLINK, p);
		for (int b = 0; b < 64; b++)
			judge(&ARCHES[i], AF_NETLINK, 1ULL << b);
		/* protocol numbers count for netlink only */
		judge(&ARCHES[i], AF_INET, 6);
		judge(&ARCHES[i], AF_INET6, 17);
	}
}

static void
what_is_counted_for_the_whole_host_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ARCHES); i++) {
		const struct arch *a = &ARCHES[i];

		assert_int_equal(answer(a, a->io_setup, 1, 0, 0),
		    SECCOMP_RET_ERRNO | ENOSYS);
		assert_int_equal(answer(a, a->fanotify_init, 0, 0, 0),
		    SECCOMP_RET_ERRNO | EPERM);
	}
}

static void
no_filter_is_attached_and_nothing_sent_without_copying(void **state)
{
	static const struct {
		uint64_t level, option;
		uint32_t want;
	} CASES[] = {
		{ SOL_SOCKET, SO_ATTACH_FILTER,
		    SECCOMP_RET_ERRNO | ENOPROTOOPT },
		{ SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF,
		    SECCOMP_RET_ERRNO | ENOPROTOOPT },
		{ SOL_SOCKET, SO_ZEROCOPY, SECCOMP_RET_ERRNO | ENOPROTOOPT },
		{ SOL_SOCKET | 1ULL << 32, SO_ATTACH_FILTER | 1ULL << 63,
		    SECCOMP_RET_ERRNO | ENOPROTOOPT },
		{ SOL_SOCKET, SO_REUSEADDR, SECCOMP_RET_ALLOW },
		{ SOL_SOCKET, SO_DETACH_FILTER, SECCOMP_RET_ALLOW },
		/* this number is another option at that level: IPV6_V6ONLY */
		{ IPPROTO_IPV6, SO_ATTACH_FILTER, SECCOMP_RET_ALLOW },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ARCHES); i++)
		for (size_t c = 0; c < ARRAY_LEN(CASES); c++)
			assert_int_equal(answer(&ARCHES[i],
					     ARCHES[i].setsockopt, 3,
					     CASES[c].level, CASES[c].option),
			    CASES[c].want);
}

static uint32_t
answer_to_root(const struct arch *a, int nr)
{
	struct seccomp_data d = { .nr = nr, .arch = a->audit };

	return run_program(ROOT_PROGRAM, ARRAY_LEN(ROOT_PROGRAM), &d);
}

/* The kernel takes the stricter answer of two filters: the test asks both. */
static void
root_gives_files_away_without_effect(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(ARCHES); i++) {
		const struct arch *a = &ARCHES[i];

		assert_int_equal(answer_to_root(a, a->fchownat),
		    SECCOMP_RET_ERRNO | 0);
		assert_int_equal(answer_to_root(a, a->setgroups),
		    SECCOMP_RET_ERRNO | 0);
		assert_int_equal(answer_to_root(a, a->socket),
		    SECCOMP_RET_ALLOW);
		/* for other users the call is allowed */
		assert_int_equal(answer(a, a->fchownat, 0, 0, 0),
		    SECCOMP_RET_ALLOW);
	}
}

#if defined(__x86_64__)
static void
socketcall_makes_no_socket(void **state)
{
	enum { SOCKETCALL = 102, CALL_SOCKET = 1, CALL_SOCKETPAIR = 8 };
	const struct arch *a = &ARCHES[2];

	(void)state;
	assert_int_not_equal(answer(a, SOCKETCALL, CALL_SOCKET, 0, 0),
	    SECCOMP_RET_ALLOW);
	assert_int_not_equal(answer(a, SOCKETCALL, CALL_SOCKETPAIR, 0, 0),
	    SECCOMP_RET_ALLOW);
}
#endif

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_families_are_open_and_no_other),
		cmocka_unit_test(
		    of_netlink_the_routes_are_open_and_nothing_else),
		cmocka_unit_test(what_is_counted_for_the_whole_host_is_refused),
		cmocka_unit_test(
		    no_filter_is_attached_and_nothing_sent_without_copying),
		cmocka_unit_test(root_gives_files_away_without_effect),
#if defined(__x86_64__)
		cmocka_unit_test(socketcall_makes_no_socket),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
