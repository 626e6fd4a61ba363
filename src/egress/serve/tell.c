/* tell.c: sends messages to rows. */
#include <poll.h>

#include "common/channel.h"
#include "common/log.h"
#include "egress/serve/serve.h"

bool
tell(struct egress *g, json_t *msg)
{
	auto_json json_t *owned = msg;
	struct err e = { 0 };

	if (owned == NULL) {
		log_line(LOG_ERROR, "tell", "a message cannot be written");
		return false;
	}
	return channel_send(g->rows_fd, owned, NULL, 0, &e) == 0;
}

bool
tell_can(const struct egress *g)
{
	struct pollfd p = { .fd = g->rows_fd, .events = POLLOUT };

	return poll(&p, 1, 0) == 1 && (p.revents & POLLOUT) != 0;
}
