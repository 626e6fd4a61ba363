/*
 * store.h: the processes of a session on its disk.
 *
 * A record and a log for each, below the session's home, so that what has
 * ended is still known when the wrapper has been replaced.  The tenant can
 * write there too: what is read back is bounded and checked, and what makes no
 * sense is removed.
 */
#ifndef SANDLEASE_AGENT_PROCESS_STORE_H
#define SANDLEASE_AGENT_PROCESS_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "agent/shell/shell.h"
#include "common/clock.h"
#include "common/str.h"

#ifndef PROCESS_DIR /* the unit test has another */
#define PROCESS_DIR "/home/user/.local/state/sandlease/processes"
#endif

enum {
	PROCESS_ID_MAX = 129,
	PROCESS_COMMAND_MAX = 8192, /* bytes of it that a record keeps */
	PROCESS_PATH_MAX = 512
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

/* Where it is, and how it came there. */
struct process_end {
	enum process_status status;
	int exit_code; /* unless it runs */
	bool timed_out;
	char at[CLOCK_ISO_MAX]; /* "": it runs, or nobody was there */
};

struct process_record {
	char id[PROCESS_ID_MAX];
	char shell[SHELL_NAME_MAX];
	char *command; /* owned; its beginning at least */
	char start[CLOCK_ISO_MAX];
	pid_t pid; /* 0: it never ran */
	bool auto_cleanup;
	struct process_end end;
};

/* Letters, digits and a few others; never what would change a path. */
bool process_store_is_id(const char *id);

/* Writes a record, as far as the disk takes it. */
void process_store_write(const struct process_record *r);
void process_store_remove(const char *id);

/* Where its log is; makes the directory. */
void process_store_log(const char *id, char out[PROCESS_PATH_MAX]);
/* What its log takes of the disk. */
int64_t process_store_bytes(const char *id);

/*
 * The records that are there, the oldest first; one that ran then has been
 * killed with its wrapper.  *count of them, the caller's with their commands.
 */
struct process_record *process_store_load(size_t *count);

#endif
