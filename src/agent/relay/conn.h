/*
 * conn.h: carries one relayed connection: one HTTP request, one response.
 *
 * The request comes from nginx and is copied as it is.  The response comes from
 * a program of the tenant, so it is parsed and written anew (web/http_reply.h).
 * The connection is closed after the response, so that the program can send
 * nothing more.
 *
 * Everything here runs in the loop's thread.
 */
#ifndef SANDLEASE_AGENT_RELAY_CONN_H
#define SANDLEASE_AGENT_RELAY_CONN_H

/* Takes over an accepted, non-blocking socket and connects it to the port. */
void relay_conn_start(int client, int port);

/* Closes all connections to the port. */
void relay_conn_close_port(int port);

/* Closes connections whose deadline has passed, and frees closed ones. */
void relay_conn_each_second(void);

#endif
