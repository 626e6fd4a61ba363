/*
 * sysfilter_gen.c: prints the filter of system calls that tenant code may not
 * make, as a BPF program for the kernel.
 *
 * Runs while the agent is built: libseccomp takes 0.4 ms to make the program,
 * which every start of a sandbox would pay.  Most refused calls fail with
 * EPERM.  Some fail as on a kernel without them: clone3 and io_setup with
 * ENOSYS, so that libraries fall back to older calls (clone, whose flags a
 * filter can read), socket families with EAFNOSUPPORT, and socket options with
 * ENOPROTOOPT.
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

/* Refused with any arguments.  Names that libseccomp lacks are left out. */
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
	/* fanotify: groups and marks count for the host's user */
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
 * A cell whose user is root has no second user, but installing packages changes
 * the owner of files and the user of processes.  So these calls succeed and do
 * nothing.  That is safe: the calls would only change rights among the tenant's
 * own processes.
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

/* Fail with ENOSYS, as on a kernel without them. */
static const char *const ABSENT[] = {
	"clone3",   /* its flags are in memory, which a filter cannot read */
	"io_setup", /* fs.aio-max-nr is one limit for the whole machine */
};

/* Families allowed; of netlink's protocols, only NETLINK_ROUTE (0). */
static const unsigned FAMILIES[] = { AF_UNIX, AF_INET, AF_INET6, AF_NETLINK };

/*
 * Socket options refused.  The compiled code of a socket filter is in no
 * cgroup's memory and counts against the machine's net.core.bpf_jit_limit: if
 * tenants used it up, no sandbox could install a seccomp filter.  Pages sent
 * without copying (SO_ZEROCOPY) count as locked memory of the host's user.
 */
static const unsigned OPTIONS[] = { SO_ATTACH_FILTER, SO_ATTACH_BPF,
	SO_ATTACH_REUSEPORT_CBPF, SO_ATTACH_REUSEPORT_EBPF, SO_ZEROCOPY };

/* Families below 2^FAMILY_BITS have a rule each, all others are refused. */
enum { FAMILY_BITS = 5, INT_BITS = 32 };
static const uint64_t INT_MASK = 0xffffffffUL; /* the kernel reads 32 bits */
_Static_assert(AF_NETLINK < 1 << FAMILY_BITS,
    "each allowed family needs a rule");

/* Applies the same rules to 32-bit programs. */
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
 * Adds the rules for nr: socket() or socketpair().  The kernel reads the low 32
 * bits of an argument, so the rules compare only these.  A rule can make one
 * comparison for each argument.  So "none of these four families" becomes a
 * rule for each other small number and a rule for each higher bit.  32-bit x86
 * also has socketcall(), whose arguments are in memory: with these rules
 * libseccomp refuses it altogether.
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

		/* in clone's flags CLONE_NEWTIME is a bit of the signal */
		if ((ns != CLONE_NEWTIME &&
			seccomp_rule_add(ctx, deny, SCMP_SYS(clone), 1,
			    SCMP_A0(SCMP_CMP_MASKED_EQ, ns, ns)) < 0) ||
		    seccomp_rule_add(ctx, deny, SCMP_SYS(unshare), 1,
			SCMP_A0(SCMP_CMP_MASKED_EQ, ns, ns)) < 0)
			return -1;
	}
	/* the kernel reads 32 bits of the request; so must the rule */
	return seccomp_rule_add(ctx, deny, SCMP_SYS(ioctl), 1,
	    SCMP_A1(SCMP_CMP_MASKED_EQ, INT_MASK, TIOCSTI));
}

/* Argument "root": the second filter, for a cell whose user is root. */
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
	/* a binary tree, not a list: most calls pass after a few steps */
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
