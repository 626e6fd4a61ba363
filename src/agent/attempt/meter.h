/*
 * meter.h: measures an attempt, by the cgroup files that the host has passed or,
 * without them, by /proc.
 */
#ifndef SANDLEASE_AGENT_ATTEMPT_METER_H
#define SANDLEASE_AGENT_ATTEMPT_METER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "agent/base/procload.h"
#include "common/channel.h"
#include "common/err.h"
#include "common/json.h"

enum meter {
	METER_MEMORY_PEAK,
	METER_MEMORY_NOW,
	METER_OOM_KILLS,
	METER_CPU_USER,
	METER_CPU_SYSTEM,
	METER_PROCS,
	METER_PIDS_MAX, /* for writing: how many there may be */
	METER_KILL,     /* for writing: 1 kills all */
	METER__MAX
};

enum { ATTEMPT_JOINS_MAX = 4, METER_KEY_MAX = 32 };

struct attempt_meters {
	int join[ATTEMPT_JOINS_MAX];
	size_t join_count;
	struct {
		int fd; /* -1: none */
		char key[METER_KEY_MAX];
		int64_t part;
	} at[METER__MAX];
	int64_t seen_peak; /* the most that was seen, in bytes */
	int64_t seen_cpu_us;
	struct procload_seen seen;
};

/* Use of an attempt so far; -1: not known. */
struct meter_now {
	int64_t cpu_us;
	int64_t memory;
	int64_t oom_kills;
	int64_t processes;
};

/* Takes the descriptors after the first out of `fds`. */
int meters_read(const json_t *msg, struct channel_fds *fds,
    struct attempt_meters *out, struct err *e) MUST_CHECK;
void meters_close(struct attempt_meters *m);

/* Measures; `root` is the attempt's process, for what no file tells. */
void meters_look(struct attempt_meters *m, pid_t root, struct meter_now *out);

/* How often the kernel has killed a process of it for want of memory. */
int64_t meters_oom_kills(const struct attempt_meters *m);

/*
 * The use of the whole attempt.  `r` is the kernel's count of its process and the
 * children that were waited for, used where no file tells.
 */
struct attempt_usage;
void meters_usage(const struct attempt_meters *m, const struct rusage *r,
    struct attempt_usage *out);

/*
 * Kills the processes of its group, or, without one, those that have `mark` in
 * their environment; waits for their end, a few seconds at most.
 */
void meters_kill(const struct attempt_meters *m, const char *mark);

/* Parses the text of a control file; -1 if the number is not there. */
int64_t meter_parse(const char *text, const char *key);

#endif
