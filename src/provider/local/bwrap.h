/*
 * bwrap.h: the command line of a sandbox, as data.
 *
 * Nothing is run here; a test compares the whole argv.  The order on the
 * command line is the order of effects inside bwrap.
 */
#ifndef SANDLEASE_PROVIDER_LOCAL_BWRAP_H
#define SANDLEASE_PROVIDER_LOCAL_BWRAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

/* Descriptors as bwrap finds them.  Those after ROOT are for bwrap only. */
enum bwrap_fd {
	BWRAP_FD_CONTROL = 3, /* init's listening control socket */
	BWRAP_FD_LOCK,        /* the lifetime lock */
	BWRAP_FD_ROOT,        /* the lock of its root file system */
	BWRAP_FD_PASSWD,
	BWRAP_FD_GROUP,
	BWRAP_FD_HOSTS,
	BWRAP_FD_NSSWITCH,
	BWRAP_FD_PROFILE,
	BWRAP_FD_BASHRC,
	BWRAP_FD_INFO, /* bwrap writes init's pid here */
	BWRAP_FD__END
};

/* Text of the /etc files that bwrap is given by descriptor. */
extern const char *const BWRAP_FILES[BWRAP_FD__END]; /* NULL: not a file */

struct bwrap_spec {
	const char *bwrap;
	const char *agent;
	const char *ws;      /* shown too, where there is one */
	const char *storage; /* bound on /sessions */
	const char *root;    /* host directories below this; "" is / */
	bool writable_root;  /* each cell may change a copy of it */
	const char *sandbox;
	const char *incarnation;
	const char *log_level;
	const char *log_format;
	int64_t log_kb;
	int64_t tmp_bytes;
};

/* A command line whose strings it owns; v ends with NULL. */
struct bwrap_argv {
	char **v;
	size_t count;
};

#define auto_argv __attribute__((cleanup(bwrap_argv_free)))

/* Builds the command line; looks only at the directories of `root`. */
int bwrap_argv(const struct bwrap_spec *s, struct bwrap_argv *out,
    struct err *e) MUST_CHECK;
void bwrap_argv_free(struct bwrap_argv *a);

#endif
