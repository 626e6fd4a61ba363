/*
 * sysfilter_gen.c: the system calls that tenant code may not make.
 *
 * Runs while the agent is built and prints the filter as a program for the
 * kernel: libseccomp takes 0.4 ms to make it, which every start of a sandbox
 * would pay.  What is refused fails with EPERM, as a rule, or as on a kernel
 * that does not have it: clone3 and io_setup with ENOSYS, so that libraries fall
 * back to what they did before them (clone, whose flags can be looked at),
 * socket families with EAFNOSUPPORT and options of sockets with ENOPROTOOPT.
 */

#include <errno.h>
#include <linux/filter.h>
#include <sched.h>
#include <seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif

/* Refused whatever the arguments; names this kernel lacks are left out. */
static const char *const REFUSED[] = {
	/* secrets and the kernel's own machinery */
	"keyctl",
	"add_key",
	"request_key",
	"bpf",
	"perf_event_open",
	"userfaultfd",
	"io_uring_setup",
	"io_uring_enter",
	"io_uring_register",
	/* its groups and marks are counted for the host's user */
	"fanotify_init",
	"fanotify_mark",
	/* mounts and namespaces */
	"mount",
	"umount",
	"umount2",
	"pivot_root",
	"chroot",
	"setns",
	"move_mount",
	"open_tree",
	"fsopen",
	"fsconfig",
	"fsmount",
	"fspick",
	"mount_setattr",
	/* handles and descriptors that go around permissions */
	"open_by_handle_at",
	"pidfd_getfd",
	/* the machine */
	"kexec_load",
	"kexec_file_load",
	"init_module",
	"finit_module",
	"create_module",
	"delete_module",
	"query_module",
	"get_kernel_syms",
	"reboot",
	"swapon",
	"swapoff",
	"acct",
	"quotactl",
	"quotactl_fd",
	"syslog",
	"settimeofday",
	"clock_settime",
	"clock_settime64",
	"stime",
	"adjtimex",
	"clock_adjtime",
	"clock_adjtime64",
	"sethostname",
	"setdomainname",
	"iopl",
	"ioperm",
	"vhangup",
	/* old and unused */
	"nfsservctl",
	"lookup_dcookie",
	"vm86",
	"vm86old",
	"uselib",
	"_sysctl",
	"sysfs",
	"ustat",
};

/*
 * A cell whose user is root has no other user that a file could belong to or a
 * process become, and packages ask for both.  These succeed and do nothing: what
 * they would change is what a tenant's processes have among themselves.
 */
static const char *const WITHOUT_EFFECT[] = {
	"chown",
	"chown32",
	"fchown",
	"fchown32",
	"lchown",
	"lchown32",
	"fchownat",
	"setuid",
	"setuid32",
	"setgid",
	"setgid32",
	"setreuid",
	"setreuid32",
	"setregid",
	"setregid32",
	"setresuid",
	"setresuid32",
	"setresgid",
	"setresgid32",
	"setgroups",
	"setgroups32",
};

static const uint64_t NAMESPACES[] = { CLONE_NEWNS, CLONE_NEWCGROUP,
	CLONE_NEWUTS, CLONE_NEWIPC, CLONE_NEWUSER, CLONE_NEWPID, CLONE_NEWNET,
	CLONE_NEWTIME };

/* Refused as by a kernel that is older or was built without them. */
static const char *const ABSENT[] = {
	"clone3",   /* its flags are in memory, where no filter can look */
	"io_setup", /* fs.aio-max-nr is one number for the whole machine */
};

/* The only families; of netlink's protocols, NETLINK_ROUTE (0) alone. */
static const unsigned FAMILIES[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

/*
 * The kernel's code for a socket's filter is in no cgroup's memory and counts
 * against net.core.bpf_jit_limit of the machine: without room there no sandbox
 * could have a seccomp filter.  Pages that are sent without copying count as
 * locked memory of the host's user.
 */
static const unsigned OPTIONS[] = { SO_ATTACH_FILTER, SO_ATTACH_BPF,
	SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF, SO_ZEROCOPY };

/* Families below 2^FAMILY_BITS are judged one by one, all others refused. */
enum { FAMILY_BITS = 5, INT_BITS = 32 };
static const uint64_t INT_MASK = 0xffffffffUL; /* what the kernel sees of one */
_Static_assert(AF_NETLINK < 1 << FAMILY_BITS, "each family is looked at");

/* 32-bit programs of the same machine are bound by the same rules. */
static void
add_compat(scmp_filter_ctx ctx)
{
#if defined(__x86_64__)
	(void)seccomp_arch_add(ctx, SCMP_ARCH_X86);
	(void)seccomp_arch_add(ctx, SCMP_ARCH_X32);
#elif defined(__aarch64__)
	(void)seccomp_arch_add(ctx, SCMP_ARCH_ARM);
#else
	(void)ctx;
#endif
}

static bool
is_family(unsigned family)
{
	for (size_t i = 0; i < ARRAY_LEN(FAMILIES); i++)
		if (FAMILIES[i] == family)
			return true;
	return false;
}

/*
 * socket() or socketpair().  The kernel takes the low 32 bits of an argument, so
 * a rule looks at these only; and since a rule can ask for one thing of each
 * argument, "none of these four" is a rule for every other small number and one
 * for each higher bit.  32-bit x86 has socketcall(), too, whose arguments are in
 * memory: libseccomp makes these rules refuse it altogether.
 */
static int
add_families(scmp_filter_ctx ctx, int nr)
{
	const uint32_t deny = SCMP_ACT_ERRNO(EAFNOSUPPORT);
	const uint64_t small = (1U << FAMILY_BITS) - 1;

	for (unsigned f = 0; f <= small; f++)
		if (!is_family(f) &&
		    seccomp_rule_add(ctx, deny, nr, 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, small, f)) < 0)
			return -1;
	for (unsigned b = FAMILY_BITS; b < INT_BITS; b++)
		if (seccomp_rule_add(ctx, deny, nr, 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, 1UL << b, 1UL << b)) < 0)
			return -1;
	for (unsigned b = 0; b < INT_BITS; b++)
		if (seccomp_rule_add(ctx, deny, nr, 2,
			SCMP_A0(SCMP_CMP_MASKED_EQ, small, AF_NETLINK),
			SCMP_A2(SCMP_CMP_MASKED_EQ, 1UL << b, 1UL << b)) < 0)
			return -1;
	return 0;
}

static int
add_options(scmp_filter_ctx ctx)
{
	for (size_t i = 0; i < ARRAY_LEN(OPTIONS); i++)
		if (seccomp_rule_add(ctx, SCMP_ACT_ERRNO(ENOPROTOOPT),
			SCMP_SYS(setsockopt), 2,
			SCMP_A1(SCMP_CMP_MASKED_EQ, INT_MASK, SOL_SOCKET),
			SCMP_A2(SCMP_CMP_MASKED_EQ, INT_MASK, OPTIONS[i])) < 0)
			return -1;
	return 0;
}

static int
add_names(scmp_filter_ctx ctx, uint32_t deny, const char *const *names,
    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		int nr = seccomp_syscall_resolve_name(names[i]);

		if (nr != __NR_SCMP_ERROR &&
		    seccomp_rule_add(ctx, deny, nr, 0) < 0)
			return -1;
	}
	return 0;
}

static int
add_rules(scmp_filter_ctx ctx)
{
	const uint32_t deny = SCMP_ACT_ERRNO(EPERM);

	if (add_names(ctx, deny, REFUSED, ARRAY_LEN(REFUSED)) < 0 ||
	    add_names(ctx, SCMP_ACT_ERRNO(ENOSYS), ABSENT, ARRAY_LEN(ABSENT)) <
		0 ||
	    add_families(ctx, SCMP_SYS(socket)) < 0 ||
	    add_families(ctx, SCMP_SYS(socketpair)) < 0 || add_options(ctx) < 0)
		return -1;
	for (size_t i = 0; i < ARRAY_LEN(NAMESPACES); i++) {
		const uint64_t ns = NAMESPACES[i];

		/* in clone's flags the bit of NEWTIME belongs to the signal */
		if ((ns != CLONE_NEWTIME &&
			seccomp_rule_add(ctx, deny, SCMP_SYS(clone), 1,
			    SCMP_A0(SCMP_CMP_MASKED_EQ, ns, ns)) < 0) ||
		    seccomp_rule_add(ctx, deny, SCMP_SYS(unshare), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, ns, ns)) < 0)
			return -1;
	}
	/* the kernel looks at 32 bits of the request; so must we */
	return seccomp_rule_add(ctx, deny, SCMP_SYS(ioctl), 1,
	    SCMP_A1(SCMP_CMP_MASKED_EQ, INT_MASK, TIOCSTI));
}

/* With the argument "root": the filter that a root's cell has beside the other. */
static int
add_wanted(scmp_filter_ctx ctx, const char *which)
{
	if (which == NULL)
		return add_rules(ctx);
	return strcmp(which, "root") == 0
	    ? add_names(ctx, SCMP_ACT_ERRNO(0), WITHOUT_EFFECT,
		  ARRAY_LEN(WITHOUT_EFFECT))
	    : -1;
}

static int
print_program(int fd)
{
	struct sock_filter f;
	ssize_t n;

	while ((n = read(fd, &f, sizeof(f))) == (ssize_t)sizeof(f))
		printf("{ 0x%02x, %u, %u, 0x%08xU },\n", f.code, f.jt, f.jf,
		    f.k);
	return n == 0 ? 0 : -1;
}

int
main(int argc, char **argv)
{
	scmp_filter_ctx ctx = seccomp_init(SCMP_ACT_ALLOW);
	int fd = memfd_create("filter", MFD_CLOEXEC);

	if (ctx == NULL || fd < 0)
		return EXIT_FAILURE;
	add_compat(ctx);
	/* a tree instead of a list: most calls pass after a few steps */
	(void)seccomp_attr_set(ctx, SCMP_FLTATR_CTL_OPTIMIZE, 2);
	if (add_wanted(ctx, argc > 1 ? argv[1] : NULL) < 0 ||
	    seccomp_export_bpf(ctx, fd) < 0 || lseek(fd, 0, SEEK_SET) < 0 ||
	    print_program(fd) < 0) {
		fputs("sysfilter_gen: cannot make the seccomp filter\n",
		    stderr);
		return EXIT_FAILURE;
	}
	seccomp_release(ctx);
	return fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
