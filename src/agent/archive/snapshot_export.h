/*
 * snapshot_export.h: all a session's files, sent to the host for a snapshot.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_EXPORT_H
#define SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_EXPORT_H

#include "common/err.h"

/*
 * Sends them (`keep` of pack.h) to `fd`, which is taken, while the session goes
 * on: a file that changes meanwhile is as it was at some moment.  Returns when
 * all is sent, or with what is in the way.
 */
int snapshot_export_send(int fd, struct err *e) MUST_CHECK;

#endif
