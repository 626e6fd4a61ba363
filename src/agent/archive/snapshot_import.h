/*
 * snapshot_import.h: copies the files of a snapshot into a new session.
 *
 * `sandlease-agent clone SECONDS` copies from /from to /to, which is the
 * working directory.  It runs on the host, in a sandbox of its own
 * (provider/store/job.h), and writes {} to stdout, or {message, errno} after a
 * failure.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_IMPORT_H
#define SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_IMPORT_H

#include <stdint.h>

int snapshot_import_main(int64_t seconds);

#endif
