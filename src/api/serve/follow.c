/* follow.c: keeps a process at work that follows what the database tells it. */
#include "api/serve/follow.h"

#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "api/child.h"
#include "common/log.h"
#include "common/str.h"

enum { AGAIN_US = 900 * 1000 };

int
follow_run(const struct conf *conf, const struct follower *f)
{
	struct store *store = store_new(conf->database, &f->store);
	const volatile sig_atomic_t *stopping = child_signals();
	char last[ERR_MSG_MAX] = "";
	struct err e = { 0 };

	prctl(PR_SET_NAME, f->process);
	while (!*stopping && f->follow(conf, store, stopping, &e) < 0) {
		if (!str_equal(e.msg, last)) /* once, not with every try */
			log_err(LOG_WARN, f->log, &e);
		str_copy(last, sizeof(last), e.msg);
		store_disconnect(store);
		usleep(AGAIN_US);
	}
	store_free(store);
	return EXIT_SUCCESS;
}
