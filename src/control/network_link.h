/*
 * network_link.h: reads the network of a session for sandlease-egress, and asks
 * the session's sandbox for the sockets that it is made of.
 */
#ifndef SANDLEASE_CONTROL_NETWORK_LINK_H
#define SANDLEASE_CONTROL_NETWORK_LINK_H

#include "control/control.h"

enum {
	NETWORK_PORTS_MAX = 64,
	NETWORK_ADDRESSES_MAX = 32,
	NETWORK_ADDRESS_MAX = 48 /* as text */
};

/* A session of this host whose cell runs, as the rows say. */
struct network_row {
	struct agent_target target;
	char tenant[CONTROL_NAME_MAX];
	json_t *policies; /* owned; presets are expanded; each must allow */
	json_t *secrets;  /* owned; with values; NULL: none */
	bool any;         /* a policy allows something */
	bool open;        /* all policies allow everything */
	bool many;        /* ports or addresses: not all are in the lists */
	/* ports that a policy names; if it is open, those that are common */
	uint16_t ports[NETWORK_PORTS_MAX + 1];
	size_t port_count;
	/* addresses that a policy names */
	char addresses[NETWORK_ADDRESSES_MAX][NETWORK_ADDRESS_MAX];
	size_t address_count;
};

#define auto_network_row __attribute__((cleanup(network_row_free)))

void network_row_free(struct network_row *n);

/* Reads a row of the statements egress_session and egress_sessions. */
int network_row_read(struct control *ctl, const struct rows *r, size_t row,
    struct network_row *out, struct err *e) MUST_CHECK;

/*
 * Netlink messages, in base64: the rules of a sandbox's packet filter, and the
 * request to report what it refuses.
 */
struct network_filter {
	const char *rules, *log; /* borrowed */
};

/*
 * Asks for the session's filter and its sockets, those that are not open yet;
 * with `base` also for the filter's reports.  Returns a connection on which they
 * arrive.
 */
int network_link(struct control *ctl, const struct network_row *n, bool base,
    const struct network_filter *filter, struct err *e) MUST_CHECK;

#endif
