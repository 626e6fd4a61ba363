/*
 * side.h: one end of a connection: reads, writes and closes a socket, with TLS
 * or without.
 *
 * Bytes that the peer does not take yet are kept.  The owner does not read from
 * one side while the other keeps bytes, so no more than one read is ever kept.
 */
#ifndef SANDLEASE_EGRESS_SERVE_SIDE_H
#define SANDLEASE_EGRESS_SERVE_SIDE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <openssl/ssl.h>

#include "common/str.h"
#include "egress/base/loop.h"

struct side {
	struct loop_watch watch; /* first: cast by the owner's callback */
	void *owner;
	int fd;               /* owned; -1: closed */
	SSL *ssl;             /* owned; NULL: no TLS */
	struct buf out;       /* bytes for the peer */
	size_t sent;          /* of `out` */
	bool ended;           /* the peer has sent its last byte */
	bool tells_end;       /* the end is told without a read */
	bool hung_up;         /* that has happened */
	bool urgent;          /* the peer has sent urgent data */
	bool finishing;       /* our last byte is in `out` or sent */
	bool shut;            /* our end was told to the peer */
	bool tls_wants_write; /* TLS waits until the socket can be written */
	bool tls_done;        /* the handshake of TLS */
};

/* `ready` is called for events; fd belongs to the side from now on. */
void side_open(struct side *s, int fd, void *owner,
    void (*ready)(struct loop_watch *w, uint32_t events));

/*
 * Limits the bytes that the kernel keeps for a peer that does not read: its
 * memory for TCP is shared by all tenants.  Costs a tenth of a fast transfer.
 */
void side_save_memory(struct side *s);

/* Notes what the events say; their callback does it first. */
void side_note(struct side *s, uint32_t events);

/*
 * Goes on with the handshake of TLS.  1: it is done, or there is none; 0: more
 * must arrive; -1: it failed.
 */
int side_handshake(struct side *s);

/*
 * Reads at most `size` bytes.  0: nothing now, or the end (s->ended).  -1: the
 * connection is broken.
 */
ssize_t side_read(struct side *s, void *data, size_t size);

/* Sends bytes, and keeps what the peer does not take.  -1: broken. */
int side_write(struct side *s, const void *data, size_t len);

/*
 * Moves at most `size` bytes from one side to the other, without TLS on both,
 * through a pipe that is empty before and after; without a copy, if the kernel
 * can.  Keeps what `to` does not take.  Returns as side_read(), or -2 if `to` is
 * broken.
 */
ssize_t side_move(struct side *from, struct side *to, const int pipe[2],
    size_t size);

/* Sends what is kept, and then our end if side_finish() was called. */
int side_flush(struct side *s);

/* No byte follows: the peer gets our end after what is kept. */
int side_finish(struct side *s);

/* The next event for bytes comes when so many have arrived, or the end. */
void side_wait_for(struct side *s, size_t bytes);

bool side_pending(const struct side *s);
/* How many bytes the peer has not taken yet, ours and the kernel's. */
size_t side_unread(const struct side *s);
/*
 * Whether the kernel can be left alone with the rest.  Much of it must count for
 * the limits of its session; a little waits only for the peer to confirm it.
 */
bool side_may_go(const struct side *s);
/* Whether the peer's end has arrived, perhaps behind bytes that were not read. */
bool side_has_end(const struct side *s);

/*
 * Watches for what the side waits for: room to write what is kept and, if
 * `wants_bytes`, something to read.
 */
int side_watch(struct loop *l, struct side *s, bool wants_bytes);

/* `reset`: the peer sees a broken connection, not an end. */
void side_close(struct loop *l, struct side *s, bool reset);

#endif
