/*
 * snapshot_import.h: `sandlease-agent clone SECONDS`: the files of a snapshot in /from
 * become those of a session in /to, which is this directory.
 *
 * Outside any session, in a sandbox of its own (provider/store/job.h).  Says on
 * stdout {}, and on failure {message, errno}.
 */
#ifndef SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_IMPORT_H
#define SANDLEASE_AGENT_ARCHIVE_SNAPSHOT_IMPORT_H

#include <stdint.h>

int snapshot_import_main(int64_t seconds);

#endif
