/*
 * rows.h: the process that reads policies from the database and writes what is
 * counted.
 *
 * It starts the serving process and sends it the sessions of this host; the
 * two exchange messages.  The API's workers ask it to make a session's network
 * follow its row, and are answered when that is done.
 */
#ifndef SANDLEASE_EGRESS_ROWS_H
#define SANDLEASE_EGRESS_ROWS_H

#include "common/conf.h"
#include "common/err.h"

/* Returns after SIGTERM or SIGINT. */
int rows_run(const struct conf *conf, struct err *e) MUST_CHECK;

#endif
