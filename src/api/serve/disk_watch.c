/* disk_watch.c: runs the process that watches the disk. */
#include "api/serve/disk_watch.h"

#include <stdlib.h>
#include <unistd.h>

#include "api/child.h"
#include "common/log.h"
#include "common/str.h"
#include "control/disk.h"

/*
 * A look at the disk costs a few system calls.  With fewer looks the process
 * would see the disk only when it is already full.
 */
enum { LOOK_US = 100 * 1000, GUARD_US = 500 * 1000, AGAIN_US = 900 * 1000 };

/* Logs an error once, and not again while it stays the same. */
static void
log_once(const struct err *e, char last[ERR_MSG_MAX])
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
	const volatile sig_atomic_t *stopping = child_signals();
	struct control ctl;
	struct err e = { 0 };

	/* the database says, once, which sandboxes this host has */
	while (!*stopping && control_open(conf, store, &ctl, &e) < 0) {
		log_once(&e, last);
		usleep(AGAIN_US);
	}
	while (!*stopping) {
		store_disconnect(store);
		while (!*stopping && !disk_wants_guard(&ctl))
			usleep(LOOK_US);
		if (*stopping)
			break;
		if (disk_guard(&ctl, &e) < 0)
			log_once(&e, last);
		else
			last[0] = '\0';
		usleep(GUARD_US);
	}
	store_free(store);
	return EXIT_SUCCESS;
}
