/*
 * server.h: accepts calls by FastCGI or CGI.
 *
 * A server is one FastCGI accept loop on a listening socket; a process may have
 * one per thread on the same socket.  server_cgi() makes a call from the
 * environment and the standard streams instead.
 */
#ifndef SANDLEASE_WEB_SERVER_H
#define SANDLEASE_WEB_SERVER_H

#include <stdbool.h>

#include "common/err.h"
#include "web/call.h"

struct server; /* one accept loop; opaque because libfcgi stays in server.c */

/* True when descriptor 0 is a listening socket, as FastCGI requires. */
bool server_is_fastcgi(void);

/* Must be called once per process, before the first server_new(). */
int server_init(struct err *e) MUST_CHECK;

/* Makes a server for `listen_fd`, which stays the caller's. */
struct server *server_new(int listen_fd);
void server_free(struct server *s);

/*
 * Waits for the next call.  -1 when accept() failed, or a signal came whose
 * handler has no SA_RESTART: the caller checks the flag of its handler and
 * calls again or stops.
 */
int server_accept(struct server *s, struct call *c);
void server_finish(struct server *s, struct call *c);

/*
 * Makes every call that was accepted before fail when it reads its body, in any
 * thread.  Otherwise a client whose key was revoked could still send the rest
 * of a body and have it carried out.
 */
void server_turn_away(void);

/*
 * For a program that is about to exit.  server_end_bodies() makes every call,
 * now and later, fail when it reads its body; the error names no key.  It does
 * not wake a call that waits for bytes of its client.  server_cut_bodies()
 * does, by shutting its socket down.  It is a step of its own because nginx
 * then shows no answer to a client that is still sending.
 */
void server_end_bodies(void);
void server_cut_bodies(void);

/*
 * Begins a call on another transport.  The caller ends it with call_release().
 */
void server_call(struct call *c, const struct call_io *io, void *ctx);

/* Begins the one call of a plain CGI program. */
void server_cgi(struct call *c);

#endif
