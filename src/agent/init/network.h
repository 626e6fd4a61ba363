/*
 * network.h: opens sockets in a cell's network namespace, for the host.
 *
 * A cell has a loopback device and nothing else.  The host's sandlease-egress
 * serves its network through sockets that a child of init opens in the cell's
 * namespace and passes out: the resolver's, the proxy's, and a listener to which
 * a packet filter redirects every connection that would leave the loopback.
 *
 * Where the kernel has no such filter there is a listener for each port that
 * the session's policy names.  The loopback device has 198.18.0.0/15, so that
 * connections to stand-ins arrive at these listeners; in mode `open` a local
 * route delivers those to every other address.
 *
 * No process of the cell takes part, and a cell without a policy has none of
 * this.
 */
#ifndef SANDLEASE_AGENT_INIT_NETWORK_H
#define SANDLEASE_AGENT_INIT_NETWORK_H

#include <stdbool.h>

#include "agent/init/cells.h"
#include "common/err.h"
#include "common/json.h"

/*
 * Called once: init itself has no use for the right to low ports.  True when
 * init's own network namespace can be given to a cell.
 */
bool network_prepare(void);

/*
 * Moves init into a new network namespace, for its next cell.  init has no
 * socket in any.
 */
int network_renew(struct err *e) MUST_CHECK;

/*
 * Starts a child that opens the sockets which `msg` asks for and sends them on
 * `reply_fd`, a few with each message; the last message has no "more".
 * Members of `msg`: "base" (the sockets that do not depend on policies, too), "rules" and "log"
 * (netlink messages for the filter and for the socket that gets its reports, in
 * base64); without a filter "ports" (numbers) and "open" (deliver all addresses).
 * Each message says in "filter" whether there is one.
 */
int network_open_sockets(const struct cell *c, const json_t *msg, int reply_fd,
    struct err *e) MUST_CHECK;

#endif
