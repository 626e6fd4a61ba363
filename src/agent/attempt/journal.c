/* journal.c: keeps records and output of attempts on the disk. */
#include "agent/attempt/journal.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "agent/files/record.h"
#include "agent/files/tree.h"
#include "common/mem.h"
#include "common/str.h"

enum { LOOKED_AT_MAX = 10000, NUMBER_DIGITS_MAX = 6 };

#define LOG ".log"
#define TIMES ".times"

const char *const ATTEMPT_STATE_NAMES[] = { "queued", "running", "ended",
	NULL };
_Static_assert(ARRAY_LEN(ATTEMPT_STATE_NAMES) == ATTEMPT_STATE__MAX + 1,
    "every state has a name");

const char *const ATTEMPT_REASON_NAMES[] = { "", "succeeded", "failed",
	"timed_out", "cpu_exceeded", "memory_exceeded", "disk_exceeded",
	"cancelled", "lost", NULL };
_Static_assert(ARRAY_LEN(ATTEMPT_REASON_NAMES) == REASON__MAX + 1,
    "every reason has a name");

bool
journal_is_id(const char *id)
{
	static const char LETTERS[] = "abcdefghijklmnopqrstuvwxyz0123456789";
	size_t len = strspn(id, LETTERS);

	return len > 0 && len < ATTEMPT_ID_MAX && id[len] == '.' &&
	    str_made_of(id + len + 1, "0123456789", 1, NUMBER_DIGITS_MAX) &&
	    strlen(id) < ATTEMPT_ID_MAX;
}

void
journal_log(const char *id, char out[JOURNAL_PATH_MAX])
{
	record_dir(JOURNAL_DIR);
	record_path(JOURNAL_DIR, id, LOG, out);
}

void
journal_remove(const char *id)
{
	static const char *const ALL[] = { RECORD_SUFFIX, RECORD_NEW_SUFFIX };
	char path[JOURNAL_PATH_MAX];

	journal_shrink(id);
	for (size_t i = 0; i < ARRAY_LEN(ALL); i++) {
		record_path(JOURNAL_DIR, id, ALL[i], path);
		(void)unlink(path);
	}
}

/* ---- records */

/* clang-format off */
static const struct jfield USAGE[] = {
	JFIELD("cpuUserUs", struct attempt_usage, cpu_user_us, J_INT, 0, -1, INT64_MAX, "microseconds"),
	JFIELD("cpuSystemUs", struct attempt_usage, cpu_system_us, J_INT, 0, -1, INT64_MAX, "microseconds"),
	JFIELD("memoryPeak", struct attempt_usage, memory_peak, J_INT, 0, -1, INT64_MAX, "bytes"),
	JFIELD("wallMs", struct attempt_usage, wall_ms, J_INT, 0, -1, INT64_MAX, "milliseconds"),
	JFIELD("written", struct attempt_usage, written, J_INT, 0, -1, INT64_MAX, "bytes"),
	JFIELD("diskGrowth", struct attempt_usage, disk_growth, J_INT, 0, INT64_MIN, INT64_MAX, "bytes"),
};

struct record_numbers {
	int state, reason;
	int64_t exit_code, signal, bytes, dropped;
};

static const struct jfield NUMBERS[] = {
	JFIELD_ENUM("state", struct record_numbers, state, J_REQUIRED, ATTEMPT_STATE_NAMES, "state"),
	JFIELD_ENUM("reason", struct record_numbers, reason, J_REQUIRED, ATTEMPT_REASON_NAMES, "reason"),
	JFIELD("exitCode", struct record_numbers, exit_code, J_INT, J_REQUIRED, 0, 255, "exit code"),
	JFIELD("signal", struct record_numbers, signal, J_INT, J_REQUIRED, 0, 64, "signal"),
	JFIELD("bytes", struct record_numbers, bytes, J_INT, 0, 0, INT64_MAX, "of output"),
	JFIELD("dropped", struct record_numbers, dropped, J_INT, 0, 0, INT64_MAX, "of output"),
};

static const struct jfield REST[] = {
	JFIELD("id", struct attempt_record, id, J_STR, J_REQUIRED, 1, ATTEMPT_ID_MAX - 1, "id"),
	JFIELD("began", struct attempt_record, began, J_INT, J_REQUIRED, 0, INT64_MAX, "milliseconds"),
	JFIELD("ended", struct attempt_record, ended, J_INT, J_REQUIRED, 0, INT64_MAX, "milliseconds"),
	JFIELD("message", struct attempt_record, message, J_STR, J_REQUIRED, 0, 127, "why it could not run"),
	JFIELD("stderrTail", struct attempt_record, tail, J_STR, J_REQUIRED, 0, 3 * JOURNAL_TAIL_MAX, "of stderr"),
};
/* clang-format on */

json_t *
journal_json(const struct attempt_record *r)
{
	const struct attempt_usage *u = &r->usage;

	return json_pack(
	    "{s:s, s:s, s:s, s:i, s:i, s:I, s:I, s:I, s:I, s:b, s:o,"
	    " s:o,"
	    " s:{s:I, s:I, s:I, s:I, s:I, s:I}}",
	    "id", r->id, "state", ATTEMPT_STATE_NAMES[r->state], "reason",
	    ATTEMPT_REASON_NAMES[r->reason], "exitCode", r->exit_code, "signal",
	    r->signal, "bytes", (json_int_t)r->bytes, "dropped",
	    (json_int_t)r->dropped, "began", (json_int_t)r->began, "ended",
	    (json_int_t)r->ended, "collected", (int)r->collected, "message",
	    json_lossy(r->message), "stderrTail",
	    json_bytes(r->tail, strlen(r->tail)), "usage", "cpuUserUs",
	    (json_int_t)u->cpu_user_us, "cpuSystemUs",
	    (json_int_t)u->cpu_system_us, "memoryPeak",
	    (json_int_t)u->memory_peak, "wallMs", (json_int_t)u->wall_ms,
	    "written", (json_int_t)u->written, "diskGrowth",
	    (json_int_t)u->disk_growth);
}

void
journal_write(const struct attempt_record *r)
{
	auto_json json_t *body = journal_json(r);

	record_write(JOURNAL_DIR, r->id, body);
}

static bool
decode_record(const json_t *body, struct attempt_record *r)
{
	const json_t *usage = json_object_get(body, "usage");
	struct record_numbers n = { 0 };
	struct err e;

	if (jfield_decode(body, REST, ARRAY_LEN(REST), J_LENIENT, r, &e) < 0 ||
	    jfield_decode(body, NUMBERS, ARRAY_LEN(NUMBERS), J_LENIENT, &n,
		&e) < 0 ||
	    (usage != NULL &&
		jfield_decode(usage, USAGE, ARRAY_LEN(USAGE), J_LENIENT,
		    &r->usage, &e) < 0))
		return false;
	r->state = (enum attempt_state)n.state;
	r->reason = (enum attempt_reason)n.reason;
	r->exit_code = (int)n.exit_code;
	r->collected = json_is_true(json_object_get(body, "collected"));
	r->signal = (int)n.signal;
	r->bytes = n.bytes;
	r->dropped = n.dropped;
	return true;
}

bool
journal_read(const char *id, struct attempt_record *r)
{
	auto_json json_t *body = record_read(JOURNAL_DIR, id);

	*r = (struct attempt_record){ 0 };
	if (body == NULL || !decode_record(body, r) || !str_equal(r->id, id))
		return false;
	if (r->state != ATTEMPT_ENDED || r->reason == REASON_NONE) {
		r->state = ATTEMPT_ENDED;
		r->reason = REASON_LOST;
	}
	return true;
}

/* ---- old records */

struct aged {
	char id[ATTEMPT_ID_MAX];
	struct timespec changed;
	bool untaken;
};

static int
newest_first(const void *a, const void *b)
{
	const struct timespec *x = &((const struct aged *)a)->changed;
	const struct timespec *y = &((const struct aged *)b)->changed;

	if (x->tv_sec != y->tv_sec)
		return x->tv_sec < y->tv_sec ? 1 : -1;
	return (x->tv_nsec < y->tv_nsec) - (x->tv_nsec > y->tv_nsec);
}

/* Whether `name` is the name of a record. */
static bool
read_age(int dir, const char *name, struct aged *out)
{
	size_t len = strlen(name), end = strlen(RECORD_SUFFIX);
	char log[JOURNAL_PATH_MAX];
	struct stat st;

	if (len <= end || len - end >= sizeof(out->id) ||
	    !str_equal(name + len - end, RECORD_SUFFIX) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return false;
	memcpy(out->id, name, len - end);
	out->id[len - end] = '\0';
	out->changed = st.st_mtim;
	if (!journal_is_id(out->id))
		return false;
	record_path(JOURNAL_DIR, out->id, LOG, log);
	out->untaken = access(log, F_OK) == 0;
	return true;
}

void
journal_trim(size_t keep, size_t untaken)
{
	auto_free struct aged *all = NULL;
	DIR *d = opendir(JOURNAL_DIR);
	const struct dirent *ent;
	size_t count = 0, looked = 0;

	if (d == NULL)
		return;
	while (looked++ < LOOKED_AT_MAX && (ent = readdir(d)) != NULL) {
		struct aged one;

		if (!read_age(dirfd(d), ent->d_name, &one))
			continue;
		all = xrealloc(all, (count + 1) * sizeof(*all));
		all[count++] = one;
	}
	closedir(d);
	if (count <= keep)
		return;
	qsort(all, count, sizeof(*all), newest_first);
	for (size_t i = 0; i < count; i++) {
		size_t *left = all[i].untaken ? &untaken : &keep;

		if (*left > 0)
			(*left)--;
		else
			journal_remove(all[i].id);
	}
}

/* ---- times */

void
journal_times_create(struct journal_times *t, const char *id)
{
	char path[JOURNAL_PATH_MAX];

	record_dir(JOURNAL_DIR);
	record_path(JOURNAL_DIR, id, TIMES, path);
	(void)unlink(path);
	*t = (struct journal_times){
		.fd = open(path,
		    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)
	};
}

/* The last entry is written again whenever it grows. */
static void
write_last(struct journal_times *t)
{
	off_t at = (off_t)((t->count - 1) * sizeof(t->last));

	(void)!pwrite(t->fd, &t->last, sizeof(t->last), at);
}

void
journal_times_add(struct journal_times *t, enum ring_stream which, size_t len,
    int64_t ms)
{
	const uint32_t step = JOURNAL_STEP_MS
	    << (t->count / JOURNAL_STEP_ENTRIES < 16
		       ? t->count / JOURNAL_STEP_ENTRIES
		       : 16);
	const uint32_t most = UINT32_MAX / 4;
	bool same = t->count > 0 && ms - t->last.ms < step &&
	    (t->last.len_and_stream & 1) == (which == RING_STDERR) &&
	    t->last.len_and_stream < most;

	/* streams that alternate would make a file of any size */
	if (t->count >= JOURNAL_ENTRIES_MAX)
		return;

	if (t->fd < 0)
		return;
	if (!same) {
		t->count++;
		t->last = (struct journal_entry){ .ms = (uint32_t)ms,
			.len_and_stream = which == RING_STDERR };
	}
	t->last.len_and_stream += (uint32_t)len * 2;
	write_last(t);
}

void
journal_times_close(struct journal_times *t)
{
	mem_close_fd(&t->fd);
}

/* ---- copies */

#define COPIES ".d"
#define LIST "list"

void
journal_copies(const char *id)
{
	char path[JOURNAL_PATH_MAX];
	struct err ignored;

	record_dir(JOURNAL_DIR);
	record_path(JOURNAL_DIR, id, COPIES, path);
	(void)!tree_remove(path, &ignored);
	(void)mkdir(path, 0700);
}

void
journal_copy(const char *id, size_t number, char out[JOURNAL_PATH_MAX])
{
	snprintf(out, JOURNAL_PATH_MAX, "%s/%s%s/%zu", JOURNAL_DIR, id, COPIES,
	    number);
}

void
journal_copies_write(const char *id, const json_t *list)
{
	auto_free char *text = json_text(list);
	char path[JOURNAL_PATH_MAX];
	auto_fd int fd = -1;

	snprintf(path, sizeof(path), "%s/%s%s/%s", JOURNAL_DIR, id, COPIES,
	    LIST);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	/* the host takes half a list for none */
	if (fd >= 0)
		(void)!files_put(fd, text, strlen(text));
}

bool
journal_is_file(const char *file)
{
	return str_equal(file, "log") || str_equal(file, "times") ||
	    str_equal(file, LIST) ||
	    str_made_of(file, "0123456789", 1, NUMBER_DIGITS_MAX);
}

int
journal_open(const char *id, const char *file)
{
	char path[JOURNAL_PATH_MAX];

	if (str_equal(file, "times"))
		record_path(JOURNAL_DIR, id, TIMES, path);
	else
		snprintf(path, sizeof(path), "%s/%s%s/%s", JOURNAL_DIR, id,
		    COPIES, file);
	return open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
}

void
journal_shrink(const char *id)
{
	char path[JOURNAL_PATH_MAX];
	struct err ignored;

	record_path(JOURNAL_DIR, id, LOG, path);
	(void)unlink(path);
	record_path(JOURNAL_DIR, id, TIMES, path);
	(void)unlink(path);
	record_path(JOURNAL_DIR, id, COPIES, path);
	(void)!tree_remove(path, &ignored);
}
