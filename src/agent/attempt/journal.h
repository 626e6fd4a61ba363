/*
 * journal.h: keeps records and output of attempts on the disk.
 *
 * Below the session's home, where the tenant can write too: the wrapper checks
 * and bounds what it reads back.  An attempt has a record, which says how it
 * ended, a log (base/ring.h), and the times of its output.
 */
#ifndef SANDLEASE_AGENT_ATTEMPT_JOURNAL_H
#define SANDLEASE_AGENT_ATTEMPT_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/ring.h"
#include "agent/files/record.h"
#include "common/clock.h"
#include "common/err.h"
#include "common/json.h"

#ifndef JOURNAL_DIR /* the unit test sets another */
#define JOURNAL_DIR "/home/user/.local/state/sandlease/executions"
#endif

enum {
	ATTEMPT_ID_MAX = 41, /* an execution's id, a dot and a number */
	JOURNAL_PATH_MAX = RECORD_PATH_MAX,
	JOURNAL_TAIL_MAX = 4096 /* bytes of stderr in a record */
};

enum attempt_state {
	ATTEMPT_QUEUED,
	ATTEMPT_RUNNING,
	ATTEMPT_ENDED,
	ATTEMPT_STATE__MAX
};
extern const char *const ATTEMPT_STATE_NAMES[]; /* NULL at the end */

enum attempt_reason {
	REASON_NONE, /* not ended */
	REASON_SUCCEEDED,
	REASON_FAILED,
	REASON_TIMED_OUT,
	REASON_CPU,
	REASON_MEMORY,
	REASON_DISK,
	REASON_CANCELLED,
	REASON_LOST, /* its wrapper ended before it did */
	REASON__MAX
};
extern const char *const ATTEMPT_REASON_NAMES[]; /* NULL at the end */

/* Numbers of -1 are not known. */
struct attempt_usage {
	int64_t cpu_user_us, cpu_system_us;
	int64_t memory_peak; /* bytes */
	int64_t wall_ms;
	int64_t written; /* bytes */
	int64_t disk_growth;
};

struct attempt_record {
	char id[ATTEMPT_ID_MAX];
	enum attempt_state state;
	enum attempt_reason reason;
	int exit_code, signal; /* signal 0: none */
	int64_t began, ended;  /* of clock_wall_ms(); 0: not yet */
	struct attempt_usage usage;
	int64_t bytes, dropped; /* of output in all; of that not kept */
	bool collected;         /* there is a list of files that it has left */
	char message[128];      /* why it could not run; "" */
	char tail[3 * JOURNAL_TAIL_MAX + 1]; /* of stderr; no NUL in it */
};

/* Letters and digits, a dot and a number. */
bool journal_is_id(const char *id);

/* Replaces the record atomically.  On a full disk the old one stays. */
void journal_write(const struct attempt_record *r);
/*
 * False unless there is a valid record.  An attempt that ran then has ended
 * with its wrapper: the reason is REASON_LOST.
 */
bool journal_read(const char *id, struct attempt_record *r);
void journal_remove(const char *id);
/*
 * Removes all but the `keep` newest attempts; one that still has its log, which
 * the host has not taken, counts for itself: `untaken`.
 */
void journal_trim(size_t keep, size_t untaken);

/* The path of the log; makes the directory. */
void journal_log(const char *id, char out[JOURNAL_PATH_MAX]);

/* The record as JSON: state, reason, exitCode, ..., usage. */
json_t *journal_json(const struct attempt_record *r);

/*
 * The times of output: one entry for the bytes that came within JOURNAL_STEP_MS
 * of each other on one stream.  After many entries the steps become longer.
 */
enum {
	JOURNAL_STEP_MS = 20,
	JOURNAL_STEP_ENTRIES = 16384,
	JOURNAL_ENTRIES_MAX = 512 * 1024 /* no times for what comes then */
};

struct journal_entry {
	uint32_t ms;             /* since the attempt began */
	uint32_t len_and_stream; /* two times the bytes, and 1 for stderr */
};

struct journal_times {
	int fd; /* -1: no file */
	size_t count;
	struct journal_entry last;
};

void journal_times_create(struct journal_times *t, const char *id);
void journal_times_add(struct journal_times *t, enum ring_stream which,
    size_t len, int64_t ms);
void journal_times_close(struct journal_times *t);

/*
 * Copies of the files that an attempt has left: a directory with a list, and the
 * files by their number in it.
 */
void journal_copies(const char *id); /* makes it, empty */
void journal_copy(const char *id, size_t number, char out[JOURNAL_PATH_MAX]);
void journal_copies_write(const char *id, const json_t *list);

/*
 * Opens "times", "list" or a copy, by its number, for reading.  Returns the
 * descriptor, -1.
 */
int journal_open(const char *id, const char *file);
/* Whether it is such a name, or "log". */
bool journal_is_file(const char *file);

/* Removes all but the record: the host has it. */
void journal_shrink(const char *id);

#endif
