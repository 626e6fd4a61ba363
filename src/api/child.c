/* child.c: sets up signals in a child of the master. */
#include "api/child.h"

#include <stddef.h>

static volatile sig_atomic_t stopping;

static void
on_term(int sig)
{
	(void)sig;
	stopping = 1;
}

const volatile sig_atomic_t *
child_signals(void)
{
	struct sigaction term = { .sa_handler = on_term }; /* no SA_RESTART */
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t none;

	sigaction(SIGTERM, &term, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGINT, &ignore, NULL); /* the master then sends SIGTERM */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	return &stopping;
}
