/*
 * wslink.h: what the wrapper and sandlease-ws say to each other.
 *
 * The wrapper accepts the session's connections and hands each to the program
 * over its control channel (channel.h), with one end of a SOCK_SEQPACKET pair.
 * When the connection has become a WebSocket the program says on the pair what
 * was asked for: one message as on a channel, {"path":"/ws/pty","args":{...}}.
 * After that a packet is one byte that says what it is and at most WSLINK_MAX of
 * data: a message of any size goes in pieces, and the kernel's buffer between the
 * two is all that waits.  The program closes its end of the pair when it has let
 * go of the connection, which is then over for the wrapper, too.
 *
 * Nothing that the host must be able to trust is in the program's hands: tenant
 * code may trace it.  The wrapper keeps the listener, and a descriptor of each
 * connection, by which it ends one whatever the program does.
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

/* The program's descriptor by which connections come, and what comes with one. */
enum { WSLINK_CONTROL = 1 };
enum { WSLINK_CLIENT, WSLINK_PAIR, WSLINK_FDS };

#endif
