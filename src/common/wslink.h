/*
 * wslink.h: what sandlease-ws and the wrapper say to each other.
 *
 * The program opens a SOCK_SEQPACKET pair for each WebSocket and hands one end
 * over its control channel (channel.h), with {"path":"/ws/pty","args":{...}}.
 * A packet is one byte that says what it is and at most WSLINK_MAX of data: a
 * message of any size goes in pieces, and the kernel's buffer between the two
 * is all that waits.  The end of a pair is the end of its WebSocket.
 */
#ifndef SANDLEASE_COMMON_WSLINK_H
#define SANDLEASE_COMMON_WSLINK_H

enum { WSLINK_MAX = 16 * 1024 };

enum wslink_kind {
	WSLINK_TEXT = 1,
	WSLINK_BINARY = 2,
	WSLINK_CLOSE = 3, /* to the program: two bytes of code, then why */
	WSLINK_KIND = 0x0f,
	WSLINK_FIN = 0x80 /* the last piece of its message */
};

/* Descriptors of the program: who connects, and whom it tells. */
enum { WSLINK_LISTENER = 0, WSLINK_CONTROL = 1 };

#endif
