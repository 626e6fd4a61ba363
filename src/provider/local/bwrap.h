/*
 * bwrap.h: builds the command line of bwrap for a sandbox.
 *
 * Nothing is run here, so a test can compare the whole argv.  bwrap carries out
 * its options in the order of the command line.
 */
#ifndef SANDLEASE_PROVIDER_LOCAL_BWRAP_H
#define SANDLEASE_PROVIDER_LOCAL_BWRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/*
 * The descriptors that bwrap, or sandlease-launch, gets.  Those after ROOT are
 * not passed to init.
 */
enum bwrap_fd {
	BWRAP_FD_CONTROL = 3, /* init's listening control socket */
	BWRAP_FD_LOCK,        /* the lock of box_hold() */
	BWRAP_FD_ROOT,        /* the lock of the root file system */
	BWRAP_FD_PASSWD,
	BWRAP_FD_GROUP,
	BWRAP_FD_HOSTS,
	BWRAP_FD_NSSWITCH,
	BWRAP_FD_PROFILE,
	BWRAP_FD_BASHRC,
	BWRAP_FD_INFO, /* bwrap writes init's pid here */
	BWRAP_FD__END
};

/* The texts of the /etc files that bwrap reads from these descriptors. */
extern const char *const BWRAP_FILES[BWRAP_FD__END]; /* NULL: no such file */

struct bwrap_spec {
	const char *bwrap;
	const char *agent;
	const char *ws;      /* path of sandlease-ws, which may be missing */
	const char *storage; /* bound at /sessions */
	const char *root;    /* the class's root file system; "": the host's */
	bool writable_root;  /* each cell may change its own copy of the root */
	const char *sandbox;
	const char *incarnation;
	const char *log_level;
	const char *log_format;
	int64_t log_kb;
	int64_t tmp_bytes;
};

/* A command line; owns its strings.  v ends with NULL. */
struct bwrap_argv {
	char **v;
	size_t count;
};

#define auto_argv __attribute__((cleanup(bwrap_argv_free)))

/* Builds the command line; reads only the directories of s->root. */
int bwrap_argv(const struct bwrap_spec *s, struct bwrap_argv *out,
    struct err *e) MUST_CHECK;

/*
 * Makes the same command line one of sandlease-launch, at `path`.  `go_fd`: see
 * sandlease-launch(8).  If `may_fall_back`, the program runs bwrap where the
 * kernel lacks what it needs.
 */
void bwrap_argv_own(struct bwrap_argv *a, const char *path, int go_fd,
    bool may_fall_back);
void bwrap_argv_free(struct bwrap_argv *a);

#endif
