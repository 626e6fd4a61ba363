/*
 * follow.h: keeps a process at work that follows what the database tells it.
 *
 * The process is a child of the master.  If the database cannot be reached, or
 * anything else fails, the process begins again from the start.
 */
#ifndef SANDLEASE_API_SERVE_FOLLOW_H
#define SANDLEASE_API_SERVE_FOLLOW_H

#include <signal.h>

#include "common/conf.h"
#include "store/store.h"

struct follower {
	const char *process; /* as ps shows it: at most 15 bytes */
	const char *log;     /* names it in the log */
	struct store_options store;
	/* Works until *stopping, or until a failure. */
	int (*follow)(const struct conf *conf, struct store *store,
	    const volatile sig_atomic_t *stopping, struct err *e);
};

/* Runs until SIGTERM; returns the exit status. */
int follow_run(const struct conf *conf, const struct follower *f);

#endif
