/* meter.c: measures an attempt. */
#include "agent/attempt/meter.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "agent/attempt/journal.h"
#include "agent/base/procload.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	TEXT_MAX = 4096,
	PROCS_TEXT_MAX = 256 * 1024,
	ENVIRON_MAX = 1024 * 1024,
	KILL_MS = 5000,
	BLOCK_BYTES = 512,
	US_PER_SECOND = 1000000
};

static const char *const NAMES[] = { "memoryPeak", "memoryNow", "oomKills",
	"cpuUserUs", "cpuSystemUs", "procs", "pidsMax", "kill", NULL };
_Static_assert(ARRAY_LEN(NAMES) == METER__MAX + 1, "every meter has a name");

/* ---- the message */

struct meter_body {
	int what;
	char key[METER_KEY_MAX];
	int64_t part;
};

static const struct jfield METER[] = {
	JFIELD_ENUM("what", struct meter_body, what, J_REQUIRED, NAMES,
	    "measured quantity"),
	JFIELD("key", struct meter_body, key, J_STR, 0, 0, METER_KEY_MAX - 1,
	    "word before the number"),
	JFIELD("part", struct meter_body, part, J_INT, J_REQUIRED, 1,
	    US_PER_SECOND, "divisor of the number"),
};

static int
take_fd_of(struct channel_fds *fds, size_t at, int *out, struct err *e)
{
	*out = channel_fds_take(fds, at);
	if (*out < 0)
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "a descriptor is missing");
	return 0;
}

static int
read_meter(const json_t *body, struct channel_fds *fds, size_t at,
    struct attempt_meters *out, struct err *e)
{
	struct meter_body b = { 0 };
	int fd;

	if (jfield_decode(body, METER, ARRAY_LEN(METER), J_LENIENT, &b, e) <
		0 ||
	    take_fd_of(fds, at, &fd, e) < 0)
		return -1;
	mem_close_fd(&out->at[b.what].fd);
	out->at[b.what].fd = fd;
	out->at[b.what].part = b.part;
	memcpy(out->at[b.what].key, b.key, sizeof(b.key));
	return 0;
}

int
meters_read(const json_t *msg, struct channel_fds *fds,
    struct attempt_meters *out, struct err *e)
{
	const json_t *list = json_object_get(msg, "meters");
	json_int_t joins = json_integer_value(json_object_get(msg, "joins"));
	size_t at = 1;

	*out = (struct attempt_meters){ 0 };
	for (int i = 0; i < METER__MAX; i++)
		out->at[i].fd = -1;
	if (joins < 0 || joins > ATTEMPT_JOINS_MAX)
		return err_field(e, "joins", "must be at most %d",
		    ATTEMPT_JOINS_MAX);
	for (; out->join_count < (size_t)joins; out->join_count++)
		if (take_fd_of(fds, at++, &out->join[out->join_count], e) < 0)
			return -1;
	for (size_t i = 0; i < json_array_size(list); i++)
		if (read_meter(json_array_get(list, i), fds, at++, out, e) < 0)
			return -1;
	return 0;
}

void
meters_close(struct attempt_meters *m)
{
	for (size_t i = 0; i < m->join_count; i++)
		mem_close_fd(&m->join[i]);
	for (int i = 0; i < METER__MAX; i++)
		mem_close_fd(&m->at[i].fd);
	m->join_count = 0;
	procload_seen_free(&m->seen);
}

/* ---- reading */

int64_t
meter_parse(const char *text, const char *key)
{
	size_t len = strlen(key);
	int64_t n;

	if (len == 0)
		return sscanf(text, "%" SCNd64, &n) == 1 ? n : -1;
	for (const char *line = text; line != NULL; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, key, len) == 0 && line[len] == ' ')
			return sscanf(line + len, "%" SCNd64, &n) == 1 ? n : -1;
	}
	return -1;
}

static int64_t
read_file(const struct attempt_meters *m, enum meter what)
{
	char text[TEXT_MAX];
	ssize_t n;
	int64_t value;

	if (m->at[what].fd < 0)
		return -1;
	n = pread(m->at[what].fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return -1;
	text[n] = '\0';
	value = meter_parse(text, m->at[what].key);
	return value < 0 ? -1 : value / m->at[what].part;
}

static int64_t
read_cpu(const struct attempt_meters *m)
{
	int64_t user = read_file(m, METER_CPU_USER);
	int64_t system = read_file(m, METER_CPU_SYSTEM);

	return user < 0 || system < 0 ? -1 : user + system;
}

/*
 * Adds up the processes below root, for quantities without a file.  Of two ways
 * to count processor time each misses some: short processes, or children whose
 * parents do not wait for them.
 */
static void
look_at_tree(struct attempt_meters *m, pid_t root, struct meter_now *out)
{
	struct procload l = procload_below(root);

	out->processes = l.processes;
	if (out->memory < 0)
		out->memory = l.memory_bytes;
	if (out->cpu_us < 0) {
		int64_t seen = procload_seen_us(&m->seen, root);

		out->cpu_us = seen > l.cpu_us ? seen : l.cpu_us;
	}
}

void
meters_look(struct attempt_meters *m, pid_t root, struct meter_now *out)
{
	int64_t peak = read_file(m, METER_MEMORY_PEAK);

	*out = (struct meter_now){ .cpu_us = read_cpu(m),
		.memory = peak >= 0 ? peak : read_file(m, METER_MEMORY_NOW),
		.oom_kills = read_file(m, METER_OOM_KILLS),
		.processes = -1 };
	if (out->cpu_us < 0 || out->memory < 0 || m->at[METER_PROCS].fd < 0)
		look_at_tree(m, root, out);
	if (out->memory > m->seen_peak)
		m->seen_peak = out->memory;
	/* the sum of a tree shrinks when a process ends */
	if (out->cpu_us > m->seen_cpu_us)
		m->seen_cpu_us = out->cpu_us;
	else
		out->cpu_us = m->seen_cpu_us;
}

int64_t
meters_oom_kills(const struct attempt_meters *m)
{
	int64_t n = read_file(m, METER_OOM_KILLS);

	return n > 0 ? n : 0;
}

static int64_t
timeval_us(const struct timeval *t)
{
	return (int64_t)t->tv_sec * US_PER_SECOND + t->tv_usec;
}

void
meters_usage(const struct attempt_meters *m, const struct rusage *r,
    struct attempt_usage *out)
{
	int64_t peak = read_file(m, METER_MEMORY_PEAK);
	int64_t largest = (int64_t)r->ru_maxrss * 1024;

	out->cpu_user_us = read_file(m, METER_CPU_USER);
	out->cpu_system_us = read_file(m, METER_CPU_SYSTEM);
	if (out->cpu_user_us < 0 || out->cpu_system_us < 0) {
		out->cpu_user_us = timeval_us(&r->ru_utime);
		out->cpu_system_us = timeval_us(&r->ru_stime);
		if (out->cpu_user_us + out->cpu_system_us < m->seen_cpu_us)
			out->cpu_user_us = m->seen_cpu_us - out->cpu_system_us;
	}
	out->memory_peak = peak > m->seen_peak ? peak : m->seen_peak;
	if (peak < 0 && largest > out->memory_peak)
		out->memory_peak = largest;
	out->written = (int64_t)r->ru_oublock * BLOCK_BYTES;
}

/* ---- killing what is left */

/*
 * Opens the list anew: through one that has been read the kernel may show the
 * same processes for another second.
 */
static ssize_t
read_procs(const struct attempt_meters *m, char *text)
{
	char path[64];
	auto_fd int fd = -1;
	size_t len = 0;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", m->at[METER_PROCS].fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return pread(m->at[METER_PROCS].fd, text, PROCS_TEXT_MAX - 1,
		    0);
	while (len < PROCS_TEXT_MAX - 1 &&
	    (n = read(fd, text + len, PROCS_TEXT_MAX - 1 - len)) > 0)
		len += (size_t)n;
	return (ssize_t)len;
}

static size_t
kill_group(const struct attempt_meters *m, char *text)
{
	ssize_t n = read_procs(m, text);
	size_t count = 0;
	char *rest = text;

	text[n > 0 ? n : 0] = '\0';
	for (char *line; (line = strsep(&rest, "\n")) != NULL;) {
		int64_t pid;

		/* 0: in another pid namespace; 1 is ours */
		if (!str_to_int(line, 2, INT_MAX, &pid) || pid == getpid())
			continue;
		kill((pid_t)pid, SIGKILL);
		count++;
	}
	return count;
}

/* No process of the group can be born any more, and all are told to die. */
static void
end_group(const struct attempt_meters *m)
{
	if (m->at[METER_PIDS_MAX].fd >= 0)
		(void)!write(m->at[METER_PIDS_MAX].fd, "0", 1);
	if (m->at[METER_KILL].fd >= 0)
		(void)!write(m->at[METER_KILL].fd, "1", 1);
}

static bool
is_marked(const char *pid, const char *mark, char *text)
{
	char path[64];
	auto_fd int fd = -1;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%.16s/environ", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, ENVIRON_MAX - 1) : -1;
	if (n <= 0)
		return false;
	text[n] = '\0';
	for (const char *at = text; at < text + n; at += strlen(at) + 1)
		if (str_equal(at, mark))
			return true;
	return false;
}

static size_t
kill_marked(const char *mark, char *text)
{
	DIR *d = opendir("/proc");
	const struct dirent *ent;
	size_t count = 0;

	while (d != NULL && (ent = readdir(d)) != NULL) {
		int64_t pid;

		if (!str_to_int(ent->d_name, 2, INT_MAX, &pid) ||
		    pid == getpid() || !is_marked(ent->d_name, mark, text))
			continue;
		kill((pid_t)pid, SIGKILL);
		count++;
	}
	if (d != NULL)
		closedir(d);
	return count;
}

void
meters_kill(const struct attempt_meters *m, const char *mark)
{
	auto_free char *text = xmalloc(ENVIRON_MAX);
	const bool grouped = m->at[METER_PROCS].fd >= 0;
	/* a process that executes a program has no environment for a moment */
	const int wanted = grouped ? 1 : 2;
	int64_t end = clock_ms() + KILL_MS;
	int none = 0;

	end_group(m);
	while (clock_left_ms(end) > 0) {
		size_t left =
		    grouped ? kill_group(m, text) : kill_marked(mark, text);

		none = left == 0 ? none + 1 : 0;
		if (none == wanted)
			return;
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
	}
}
