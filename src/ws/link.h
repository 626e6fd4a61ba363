/*
 * link.h: one WebSocket and the pair of sockets that leads to the wrapper.
 *
 * libwebsockets speaks the protocol; here bytes only change sides.  Neither
 * side is read while the other does not take: what waits is one packet one
 * way and what one read brought the other way.
 */
#ifndef SANDLEASE_WS_LINK_H
#define SANDLEASE_WS_LINK_H

#include <libwebsockets.h>
#include <stdbool.h>

struct link {
	struct lws *ws;
	struct lws *wrapper;         /* our end of the pair; a child of ws */
	int fd;                      /* that end's, which lws owns */
	int pair;                    /* the same end, the caller's */
	struct lws_buflist *waiting; /* packets the wrapper has not taken */
	unsigned char *packet;       /* room for one that the client gets */
	size_t len;                  /* of its data */
	bool full;                   /* there is one */
	bool in_message;             /* whose last piece is still to come */
	bool over;                   /* the wrapper has closed its end */
};

/* Name of the protocol that wrapper's ends are adopted with. */
#define LINK_WRAPPER "wrapper"

/*
 * The WebSocket is there: tells the wrapper by the pair, our end of which stays
 * the caller's.
 */
int link_open(struct link *l, struct lws *ws, int pair);
void link_close(struct link *l);

/* A piece of a message came from the client. */
int link_receive(struct link *l, const void *data, size_t len);

/* It is not read while the wrapper does not take: its pongs are not missed. */
void link_timer(struct link *l);

/* The client takes more; -1 ends the WebSocket.  `leave`: say good-bye. */
int link_writable(struct link *l, bool leave);

/* The wrapper has closed its end: what it said last is still written. */
void link_lost(struct link *l);

/* Callback of LINK_WRAPPER. */
int link_wrapper(struct lws *wsi, enum lws_callback_reasons reason, void *user,
    void *in, size_t len);

#endif
