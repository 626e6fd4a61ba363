/*
 * channel.h: sends and receives messages of one JSON object and a few
 * descriptors each.
 *
 * This is the control channel between the host (provider/) and the agent's
 * init, and between init and its wrappers.  The sockets are SOCK_SEQPACKET,
 * which keeps the boundaries of messages; descriptors are passed by SCM_RIGHTS.
 * The code is in common/ because both ends must agree on it to the byte.
 *
 * Neither end trusts the other's lengths: a message with more than
 * CHANNEL_MSG_MAX bytes or CHANNEL_FDS_MAX descriptors is an error.
 */
#ifndef SANDLEASE_COMMON_CHANNEL_H
#define SANDLEASE_COMMON_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"
#include "common/json.h"

enum { CHANNEL_MSG_MAX = 64 * 1024, CHANNEL_FDS_MAX = 16 };

/* Descriptors that came with a message.  Owned: channel_fds_close(). */
struct channel_fds {
	int fd[CHANNEL_FDS_MAX];
	size_t count;
};

#define auto_fds __attribute__((cleanup(channel_fds_close)))

/*
 * Makes a listening unix socket at `path` (unlinked first), close-on-exec, mode
 * 0660.  `type` is SOCK_STREAM or SOCK_SEQPACKET.  Returns the descriptor.
 * If two processes do this for one path at the same moment, one of them may get
 * CODE_TRY_AGAIN.
 */
int channel_listen(const char *path, int type, struct err *e) MUST_CHECK;

/*
 * Connects a SEQPACKET socket, close-on-exec, and returns the descriptor.
 * Never waits: without a listener the error is ERR_UNAVAILABLE "not_listening",
 * with a full backlog ERR_UNAVAILABLE "timed_out".
 */
int channel_connect(const char *path, struct err *e) MUST_CHECK;

/* Sends one message with `count` descriptors (which stay the caller's). */
int channel_send(int sock, const json_t *msg, const int *fds, size_t count,
    struct err *e) MUST_CHECK;

/*
 * Receives one message before the deadline, a time of clock_ms().  The caller
 * owns *msg.  A closed peer is ERR_UNAVAILABLE "peer_closed", an expired
 * deadline ERR_UNAVAILABLE "timed_out".
 */
int channel_recv(int sock, int64_t deadline_ms, json_t **msg,
    struct channel_fds *fds, struct err *e) MUST_CHECK;

/*
 * True when accept() failed (`error` is its errno) because descriptors or
 * memory ran out.  The connection stays in the backlog and poll() reports it
 * again at once, so the caller must pause or its loop would spin.
 */
bool channel_accept_must_pause(int error);

void channel_fds_close(struct channel_fds *fds);

/* Takes descriptor i out of the set; -1 when there is none. */
int channel_fds_take(struct channel_fds *fds, size_t i);

#endif
