/*
 * link.h: copies messages between one WebSocket and the wrapper.
 *
 * libwebsockets does the protocol.  Neither side is read while the other does
 * not accept data.  So a link holds at most one packet for the client, and the
 * data of one read for the wrapper.
 */
#ifndef SANDLEASE_WS_LINK_H
#define SANDLEASE_WS_LINK_H

#include <libwebsockets.h>
#include <stdbool.h>

struct link {
	struct lws *ws;
	struct lws *wrapper;         /* our end of the pair; a child of ws */
	int fd;                      /* descriptor of wrapper; lws owns it */
	int pair;                    /* the same end; the caller owns it */
	struct lws_buflist *waiting; /* packets for the wrapper */
	unsigned char *packet;       /* buffer of a packet for the client */
	size_t len;                  /* of its data */
	bool full;                   /* the buffer has a packet */
	bool in_message;             /* the last packet had no WSLINK_FIN */
	bool over;                   /* the wrapper has closed its end */
};

/* Name of the lws protocol for our ends of the pairs. */
#define LINK_WRAPPER "wrapper"

/*
 * Begins when the WebSocket is established: sends path and arguments to the
 * wrapper.  `pair` stays the caller's.
 */
int link_open(struct link *l, struct lws *ws, int pair);
void link_close(struct link *l);

/* Passes a piece of the client's message on to the wrapper. */
int link_receive(struct link *l, const void *data, size_t len);

/*
 * Marks the client as alive while packets wait for the wrapper.  The client's
 * pongs are not read then, and lws would hang up.
 */
void link_timer(struct link *l);

/*
 * Writes the waiting packet to the client; -1 ends the WebSocket.  `leave`:
 * sends a close frame.
 */
int link_writable(struct link *l, bool leave);

/* The wrapper has closed its end; its last packet is still written. */
void link_lost(struct link *l);

/* Callback of LINK_WRAPPER. */
int link_wrapper(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len);

#endif
