/* watch.c: the process that watches the disk. */
#include "api/watch.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/log.h"
#include "common/str.h"
#include "control/disk.h"

enum { EVERY_US = 500 * 1000, AGAIN_US = 900 * 1000 };

static volatile sig_atomic_t stopping;

static void
on_term(int sig)
{
	(void)sig;
	stopping = 1;
}

/* Without SA_RESTART, so that it ends a sleep. */
static void
install_signals(void)
{
	struct sigaction term = { .sa_handler = on_term };
	struct sigaction ignore = { .sa_handler = SIG_IGN };
	sigset_t none;

	sigaction(SIGTERM, &term, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	sigaction(SIGHUP, &ignore, NULL);
	sigaction(SIGINT, &ignore, NULL); /* the master passes it on */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* The same trouble is told once, not twice a second. */
static void
complain(const struct err *e, char last[ERR_MSG_MAX])
{
	if (str_equal(e->msg, last))
		return;
	log_err(LOG_WARN, "disk_watch", e);
	str_copy(last, ERR_MSG_MAX, e->msg);
}

int
watch_run(const struct conf *conf)
{
	static const struct store_options OPTIONS = { "sandlease-watch", 2000 };
	struct store *store = store_new(conf->database, &OPTIONS);
	char last[ERR_MSG_MAX] = "";
	struct control ctl;
	struct err e = { 0 };

	install_signals();
	/* whose sandboxes are ours is the database's to say, once */
	while (!stopping && control_open(conf, store, &ctl, &e) < 0) {
		complain(&e, last);
		usleep(AGAIN_US);
	}
	while (!stopping) {
		store_disconnect(store);
		while (!stopping && !disk_wants_guard(&ctl))
			usleep(EVERY_US);
		if (!stopping && disk_guard(&ctl, &e) < 0)
			complain(&e, last);
		usleep(EVERY_US);
	}
	store_free(store);
	return EXIT_SUCCESS;
}
