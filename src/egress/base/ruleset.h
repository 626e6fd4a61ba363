/*
 * ruleset.h: writes the netlink messages that set up the packet filter of a
 * sandbox's network namespace (libnftnl, libmnl).
 *
 * Only bytes are made here: init sends them in the namespace.  The rules
 *
 *     table inet sandlease {
 *         chain track {
 *             type filter hook output priority raw
 *             tcp sport 3129 accept
 *             ip daddr 127.0.0.0/8 notrack
 *             ip6 daddr ::1 notrack
 *         }
 *         chain redirect {
 *             type nat hook output priority dstnat
 *             meta l4proto tcp limit rate over 200/second burst 2000 drop
 *             ip daddr 192.0.2.7 redirect to :3129    for each address
 *             meta nfproto ipv6 accept
 *             ip daddr != 198.18.0.0/15 accept
 *             tcp dport 80 redirect to :3129          for each port
 *         }
 *         chain refuse {
 *             type filter hook output priority filter
 *             ip daddr 127.0.0.0/8 accept
 *             ip6 daddr ::1 accept
 *             ip daddr 198.18.0.1 accept
 *             limit rate 20/second burst 60 packets log group 1
 *             meta l4proto tcp reject with tcp reset
 *             reject with icmpx admin-prohibited
 *         }
 *     }
 *
 * bring connections to stand-ins to one listener, which learns from the kernel
 * what each was meant for.  In an open network every TCP connection that leaves
 * the loopback is redirected.  Everything else is refused at once, and reported
 * to a socket.  Traffic on the loopback is not tracked, because an entry for
 * each of its connections would be kernel memory that no limit of the sandbox
 * counts; those of other connections last for up to two minutes, and their
 * number has a limit by that of new connections.
 */
#ifndef SANDLEASE_EGRESS_BASE_RULESET_H
#define SANDLEASE_EGRESS_BASE_RULESET_H

#include <stddef.h>
#include <stdint.h>

#include "common/address.h"

enum {
	RULESET_PORT = 3129,
	RULESET_GROUP = 1,
	RULESET_PORTS_MAX = 64,
	RULESET_ADDRESSES_MAX = 32,
	RULESET_BYTES_MAX = 32768
};

struct ruleset {
	bool open;             /* redirect connections to every address */
	const uint16_t *ports; /* borrowed; else those to stand-ins */
	size_t count;          /* at most RULESET_PORTS_MAX */
	/* ... and to these, on every port; at most RULESET_ADDRESSES_MAX */
	const struct address *addresses; /* borrowed */
	size_t address_count;
};

/*
 * The rules, which replace those of an earlier call at once.  Returns the
 * length.
 */
size_t ruleset_write(const struct ruleset *s, uint8_t out[RULESET_BYTES_MAX]);

/* The request to report refused packets to the socket that sends it. */
size_t ruleset_write_log(uint8_t out[RULESET_BYTES_MAX]);

/* A packet that was refused. */
struct refused_packet {
	struct address to;
	uint16_t port;        /* 0: the protocol has none */
	const char *protocol; /* "udp", "tcp", "icmp" or "other" */
};

/* Reads what the kernel has reported; calls `seen` for each packet. */
void ruleset_read_log(const uint8_t *data, size_t len,
    void (*seen)(void *ctx, const struct refused_packet *p), void *ctx);

#endif
