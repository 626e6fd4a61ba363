/*
 * launch.h: starts a sandbox by the same command line as bubblewrap.
 *
 * sandlease-launch understands the options that src/provider/local/bwrap.c uses
 * and no others.  It is a program of its own so that nothing of a worker's
 * memory gets near a sandbox.  It needs no privileges, uses no heap and no
 * library but libc, and reads nothing that a tenant has written.  Each function
 * here ends the process with a message if it fails.
 */
#ifndef SANDLEASE_LAUNCH_LAUNCH_H
#define SANDLEASE_LAUNCH_LAUNCH_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { OPS_MAX = 128, ENV_MAX = 8, ENV_BYTES = 512, FDS_MAX = 1024 };

/* A step that makes a part of the sandbox's file system. */
struct op {
	void (*run)(const struct op *o);
	const char *a, *b; /* the option's arguments; b may be NULL */
	int fd;            /* --file: the descriptor with the text */
	unsigned mode;     /* --perms */
	int64_t size;      /* --size; 0: the kernel's default */
};

/* A parsed command line. */
struct plan {
	uid_t uid;
	gid_t gid;
	uint64_t caps; /* bits of the capabilities that the program keeps */
	const char *hostname, *chdir;
	int info_fd; /* the program's pid is written here */
	int go_fd;   /* a byte from here: the pid is recorded */
	struct op ops[OPS_MAX];
	size_t op_count;
	char env[ENV_MAX][ENV_BYTES];
	char *envp[ENV_MAX + 1];
	char **command;
};

/* ---- say.c */

void die(const char *format, ...)
    __attribute__((noreturn, format(printf, 1, 2)));
/* The same, with the text of errno. */
void die_errno(const char *format, ...)
    __attribute__((noreturn, format(printf, 1, 2)));

/* ---- plan.c */

void plan_parse(struct plan *p, char **argv);
/* A number of an option; from 0 to `most`. */
int64_t plan_number(const char *option, const char *text, int64_t most);

/* ---- mounts.c */

void run_dir(const struct op *o);
void run_symlink(const struct op *o);
void run_file(const struct op *o);
void run_bind(const struct op *o);
void run_ro_bind(const struct op *o);
void run_ro_bind_try(const struct op *o);
void run_proc(const struct op *o);
void run_dev(const struct op *o);
void run_tmpfs(const struct op *o);
void run_remount_ro(const struct op *o);

/* Whether this kernel has the system calls that the functions above need. */
int mounts_work(void);
/* Mounts the new root; the working directory is in it from now on. */
void mounts_begin(void);
/* Makes the working directory the root, and unmounts the old one. */
void mounts_enter(void);

/* ---- user.c */

/*
 * For the first process of new namespaces: makes it root of its user namespace.
 * `proc` is a descriptor of the host's /proc.
 */
void user_become_root(int proc, uid_t uid, gid_t gid);

/*
 * Moves into a second user namespace, the sandbox's own, with a new network
 * namespace that belongs to it.  The first one, in which no process is left,
 * owns the mounts and forbids further user namespaces.
 */
void user_enter(int proc, const struct plan *p);

/* Keeps only the plan's capabilities, also across exec. */
void user_keep_caps(const struct plan *p);

#endif
