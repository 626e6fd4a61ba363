/*
 * channel.h: one JSON object and a few descriptors per message.
 *
 * The control channel between the host (provider/) and the agent's init, and
 * between init and its wrappers: SOCK_SEQPACKET, so that a message is a
 * message, with descriptors passed by SCM_RIGHTS.  The one piece of I/O that
 * lives in common/, because both ends must agree on it to the byte.
 *
 * Neither end believes the other's lengths: a message has at most
 * CHANNEL_MSG_MAX bytes and CHANNEL_FDS_MAX descriptors, more is an error.
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
 * A listening unix socket at `path` (unlinked first), close-on-exec, mode
 * 0660.  `type` is SOCK_STREAM or SOCK_SEQPACKET.  Returns the descriptor.
 * Of two who take a name at the same moment one may hear CODE_TRY_AGAIN.
 */
int channel_listen(const char *path, int type, struct err *e) MUST_CHECK;

/*
 * A connected SEQPACKET socket, close-on-exec.  Returns the descriptor, at
 * once: nobody there is ERR_UNAVAILABLE "not_listening", one who has let too
 * many wait ERR_UNAVAILABLE "timed_out".
 */
int channel_connect(const char *path, struct err *e) MUST_CHECK;

/* Sends one message with `count` descriptors (which stay the caller's). */
int channel_send(int sock, const json_t *msg, const int *fds, size_t count,
    struct err *e) MUST_CHECK;

/*
 * Receives one message before the deadline of clock_ms().  *msg is the
 * caller's.  A closed peer is ERR_UNAVAILABLE "peer_closed", an expired
 * deadline ERR_UNAVAILABLE "timed_out".
 */
int channel_recv(int sock, int64_t deadline_ms, json_t **msg,
    struct channel_fds *fds, struct err *e) MUST_CHECK;

/*
 * Whether accept() failed (`error` is its errno) for want of descriptors or
 * memory: the connection is still there, and a loop that is told so at once
 * again must pause.
 */
bool channel_accept_must_pause(int error);

void channel_fds_close(struct channel_fds *fds);

/* Takes descriptor i out of the set; -1 when there is none. */
int channel_fds_take(struct channel_fds *fds, size_t i);

#endif
