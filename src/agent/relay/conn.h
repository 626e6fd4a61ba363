/*
 * conn.h: one relayed connection: one HTTP request, one response.
 *
 * The request comes from nginx and is copied.  The response comes from a program
 * of the tenant's and is written anew (web/http_reply.h); with it the connection
 * ends, so that nothing can follow.
 *
 * Everything here runs in the loop's thread.
 */
#ifndef SANDLEASE_AGENT_RELAY_CONN_H
#define SANDLEASE_AGENT_RELAY_CONN_H

/* Takes over an accepted, non-blocking socket and connects it to the port. */
void relay_conn_start(int client, int port);

void relay_conn_close_port(int port);

/* Time limits of heads and goodbyes, and freeing what has ended. */
void relay_conn_each_second(void);

#endif
