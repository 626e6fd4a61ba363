/*
 * warm.c: the process that fills the warm pool.
 *
 * A member is started only when no create has come for a while: on a busy host
 * the pool would take the processors from those who wait.  One tenant whose
 * creates never end must not keep it empty for all others, so the wait has a
 * limit; then one member is started.
 */
#include "api/serve/warm.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "api/serve/follow.h"
#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"
#include "control/control.h"
#include "control/warm.h"

/*
 * The reaper may retire members, so the process looks every LOOK_MS, too.
 * After a failure it waits as long.
 */
enum { QUIET_MS = 200, QUIET_WAIT_MS = 2000, LOOK_MS = 15000 };

static int creates_fd = -1; /* an eventfd, shared by all children */

void
warm_open(void)
{
	creates_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
}

void
warm_tell(void)
{
	uint64_t one = 1;

	(void)!write(creates_fd, &one, sizeof(one));
}

/* Waits for a create, and takes note of it; false: none came in that time. */
static bool
wait_for_create(int ms)
{
	struct pollfd f = { creates_fd, POLLIN, 0 };
	uint64_t count;

	return poll(&f, 1, ms) == 1 &&
	    read(creates_fd, &count, sizeof(count)) == sizeof(count);
}

/* After a create: waits until no other has come for QUIET_MS. */
static void
wait_for_quiet(const volatile sig_atomic_t *stopping)
{
	int64_t end_ms = clock_ms() + QUIET_WAIT_MS;

	while (!*stopping && clock_left_ms(end_ms) > 0 &&
	    wait_for_create(QUIET_MS))
		;
}

/* Starts members until there are enough. */
static int
fill_class(struct control *ctl, const char *name, int64_t most,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	bool made = true;

	while (made && !*stopping) {
		if (wait_for_create(0))
			wait_for_quiet(stopping);
		if (warm_fill(ctl, name, most, &made, e) < 0)
			return -1;
	}
	return 0;
}

static int
follow_creates(const struct conf *conf, struct store *store,
    const volatile sig_atomic_t *stopping, struct err *e)
{
	struct warm_classes classes;
	struct control ctl;

	if (control_open(conf, store, &ctl, e) < 0)
		return -1;
	warm_classes_read(conf, &classes);
	while (!*stopping) {
		for (size_t i = 0; i < classes.count; i++) {
			struct err why = { 0 };

			if (fill_class(&ctl, classes.name[i], classes.most,
				stopping, &why) < 0)
				log_err(LOG_WARN, "warm", &why);
		}
		if (wait_for_create(LOOK_MS))
			wait_for_quiet(stopping);
	}
	return 0;
}

int
warm_run(const struct conf *conf)
{
	static const struct follower FOLLOWER = { .process = "sandlease-warm",
		.log = "warm",
		.store = { "sandlease-warm", 5000 },
		.follow = follow_creates };

	return follow_run(conf, &FOLLOWER);
}
