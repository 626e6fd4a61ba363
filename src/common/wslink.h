/*
 * wslink.h: defines the protocol between the wrapper and sandlease-ws.
 *
 * The wrapper accepts the session's connections.  It passes each to
 * sandlease-ws over a control channel (channel.h), with one end of a
 * SOCK_SEQPACKET pair.  When the connection has become a WebSocket,
 * sandlease-ws sends one channel message on the pair, which says what the
 * client asked for: {"path":"/ws/pty","args":{...}}.  Every later packet is one
 * byte of enum wslink_kind and at most WSLINK_MAX bytes of data.  A longer
 * message is sent in pieces, so only the kernel's buffer of the pair holds
 * waiting data.  sandlease-ws closes its end of the pair when the connection is
 * over; the wrapper then ends it, too.
 *
 * The host must not have to trust sandlease-ws, because tenant code may trace
 * it.  So the wrapper keeps the listener and a descriptor of each connection:
 * with that it can end a connection whatever sandlease-ws does.
 */
#ifndef SANDLEASE_COMMON_WSLINK_H
#define SANDLEASE_COMMON_WSLINK_H

enum { WSLINK_MAX = 16 * 1024 };

enum wslink_kind {
	WSLINK_TEXT = 1,
	WSLINK_BINARY = 2,
	WSLINK_CLOSE = 3, /* to sandlease-ws: two bytes of code, then why */
	WSLINK_KIND = 0x0f,
	WSLINK_FIN = 0x80 /* the last piece of its message */
};

/* The number of the control channel's descriptor in sandlease-ws. */
enum { WSLINK_CONTROL = 1 };
/* The descriptors in a message that passes a connection, and their count. */
enum { WSLINK_CLIENT, WSLINK_PAIR, WSLINK_FDS };

#endif
