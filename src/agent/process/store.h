/*
 * store.h: keeps records and logs of background processes on the disk.
 *
 * Each process has a record and a log below the session's home, so that the
 * next wrapper still knows the ended ones.  The tenant can write there too: the
 * wrapper checks and bounds everything that it reads back, and removes files
 * that make no sense.
 */
#ifndef SANDLEASE_AGENT_PROCESS_STORE_H
#define SANDLEASE_AGENT_PROCESS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/files/record.h"
#include "agent/shell/shell.h"
#include "common/clock.h"
#include "common/str.h"

#ifndef PROCESS_DIR /* the unit test sets another */
#define PROCESS_DIR "/home/user/.local/state/sandlease/processes"
#endif

enum {
	PROCESS_ID_MAX = 129,
	PROCESS_COMMAND_MAX = 8192, /* bytes of the command in a record */
	PROCESS_PATH_MAX = RECORD_PATH_MAX
};

enum process_status {
	PROCESS_RUNNING,
	PROCESS_COMPLETED,
	PROCESS_FAILED,
	PROCESS_KILLED,
	PROCESS_ERROR,
	PROCESS_STATUS__MAX
};
extern const char *const PROCESS_STATUS_NAMES[]; /* NULL at the end */

/* Status of a process, and how it ended. */
struct process_end {
	enum process_status status;
	int exit_code; /* not set while it runs */
	bool timed_out;
	char at[CLOCK_ISO_MAX]; /* "": it runs, or no wrapper saw its end */
};

struct process_record {
	char id[PROCESS_ID_MAX];
	char shell[SHELL_NAME_MAX];
	char *command; /* owned; the first PROCESS_COMMAND_MAX bytes */
	char start[CLOCK_ISO_MAX];
	pid_t pid; /* 0: the process never ran */
	bool auto_cleanup;
	struct process_end end;
};

/* Letters, digits and -_.:@+ only, because the id becomes a file's name. */
bool process_store_is_id(const char *id);

/* Replaces the record atomically.  On a full disk the old one stays. */
void process_store_write(const struct process_record *r);
void process_store_remove(const char *id);

/* Path of the log; makes the directory. */
void process_store_log(const char *id, char out[PROCESS_PATH_MAX]);
/* Bytes of disk that the log takes. */
int64_t process_store_bytes(const char *id);

/*
 * Reads the records, the oldest first.  A process that ran then was killed with
 * its wrapper, and its record says so.  The caller frees the array of *count
 * records and their commands.
 */
struct process_record *process_store_load(size_t *count);

#endif
