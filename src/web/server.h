/*
 * server.h: where calls come from.
 *
 * A server is one FastCGI accept loop on a listening socket; a process may
 * have one per thread on the same socket.  server_cgi() makes a call of the
 * environment and the standard streams instead.
 */
#ifndef SANDLEASE_WEB_SERVER_H
#define SANDLEASE_WEB_SERVER_H

#include <stdbool.h>

#include "common/err.h"
#include "web/call.h"

struct server; /* one accept loop; opaque because libfcgi stays in server.c */

/* True when descriptor 0 is a listening socket, as FastCGI wants it. */
bool server_is_fastcgi(void);

/* Once per process, before the first server_new(). */
int server_init(struct err *e) MUST_CHECK;

/* A loop on `listen_fd`, which stays the caller's. */
struct server *server_new(int listen_fd);
void server_free(struct server *s);

/*
 * The next call.  -1 when a signal whose handler has no SA_RESTART came, or
 * accepting failed; look at your own flag and call again or stop.
 */
int server_accept(struct server *s, struct call *c);
void server_finish(struct server *s, struct call *c);

/*
 * No call that was accepted before reads any more of its body, in any thread:
 * who sends the rest of one after the key was revoked has nothing done.
 */
void server_turn_away(void);

/*
 * The same for every call, now and later, and without blaming a key: for a
 * program that is about to leave.  A call that waits for its client to send is
 * woken by server_cut_bodies() only, because nginx shows a client that is still
 * sending no answer once we have shut its socket down.
 */
void server_end_bodies(void);
void server_cut_bodies(void);

/* A call that came another way; call_release() when it is over. */
void server_call(struct call *c, const struct call_io *io, void *ctx);

/* Serves one call as a plain CGI program. */
void server_cgi(struct call *c);

#endif
