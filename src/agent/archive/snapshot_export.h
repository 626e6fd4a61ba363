/*
 * snapshot_export.h: sends a session's files to the host for a snapshot.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_EXPORT_H
#define SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_EXPORT_H

#include "common/err.h"

/*
 * Runs `keep` of pack.h with `fd` as its stdout, and closes `fd`.  The session
 * goes on meanwhile: of a file that changes, the snapshot has the state of some
 * moment.  Returns when everything is sent, or with the reason of the failure.
 */
int snapshot_export_send(int fd, struct err *e) MUST_CHECK;

#endif
