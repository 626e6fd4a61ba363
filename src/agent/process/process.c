/* process.c: keeps the table of a session's background processes. */
#include "agent/process/process.h"

#include <stdlib.h>

#include "agent/process/internal.h"
#include "common/mem.h"

/* ---- entries of the table; with the lock held */

static void
remove_files(struct child_entry *c)
{
	process_store_remove(c->id);
}

static void
free_process(struct child_entry *c)
{
	struct process *p = process_of(c);

	ring_close(&p->log);
	mem_close_fd(&p->input);
	free(p->rec.command);
	free(p);
}

/* Forgets autoCleanup processes that ended PROCESS_CLEANUP_MS ago. */
static void
forget_cleaned_up(void)
{
	struct child_table *t = &process_table;
	int64_t before = clock_ms() - PROCESS_CLEANUP_MS;

	child_lock(t);
	for (size_t i = t->count; i-- > 0;) {
		struct process *p = process_of(t->all[i]);

		if (p->entry.ended && p->rec.auto_cleanup &&
		    p->ended_ms < before)
			child_remove(&p->entry);
	}
	child_unlock(t);
}

struct child_table process_table = { .one = "process",
	.many = "processes",
	.failed = CODE_PROCESS_ERROR,
	.too_many = CODE_TOO_MANY_PROCESSES,
	.living_max = PROCESS_LIVING_MAX,
	.each_second = forget_cleaned_up,
	.removed = remove_files,
	.destroy = free_process,
	.lock = LOCK_INIT(LOCK_PROCESS),
	.changed = PTHREAD_COND_INITIALIZER };

/*
 * Keeps the newest ended processes, within PROCESS_ENDED_MAX and
 * PROCESS_LOGS_MB_MAX, and forgets the others.
 */
static void
forget_oldest(void)
{
	const int64_t most = (int64_t)PROCESS_LOGS_MB_MAX << 20;
	struct child_table *t = &process_table;
	size_t ended = 0;
	int64_t bytes = 0;

	for (size_t i = t->count; i-- > 0;) {
		struct process *p = process_of(t->all[i]);

		if (!p->entry.ended)
			continue;
		bytes += p->log_bytes;
		if (++ended > PROCESS_ENDED_MAX || bytes > most) {
			bytes -= p->log_bytes;
			child_remove(&p->entry);
		}
	}
}

int
process_admit(const char *id, struct err *e)
{
	struct child_entry *old = child_named(&process_table, id);

	if (old != NULL && !old->ended)
		return err_set(e, ERR_CONFLICT, CODE_PROCESS_ALREADY_EXISTS,
		    "Process '%s' already exists", id);
	if (child_admit(&process_table, e) < 0)
		return -1;
	if (old != NULL)
		child_remove(old);
	return 0;
}

void
process_ended(struct process *p, const struct process_end *how)
{
	p->rec.end = *how;
	if (p->readers == 0)
		ring_close(&p->log);
	if (!p->entry.writing)
		mem_close_fd(&p->input);
	child_ended(&p->entry);
	forget_oldest();
}

/* ---- finding and describing */

void
process_load(void)
{
	static bool loaded;
	auto_free struct process_record *all = NULL;
	size_t n = 0;

	child_lock(&process_table);
	if (!loaded)
		all = process_store_load(&n);
	loaded = true;
	for (size_t i = 0; i < n; i++) {
		struct process *p = xcalloc(1, sizeof(*p));

		*p = (struct process){ .rec = all[i],
			.log = { .fd = -1 },
			.input = -1,
			.log_bytes = process_store_bytes(all[i].id) };
		child_init(&p->entry, &process_table, p->rec.id);
		p->entry.ended = true;
		child_enter(&p->entry);
		child_drop(&p->entry);
	}
	if (n > 0)
		forget_oldest();
	child_unlock(&process_table);
}

int
process_find(const char *id, struct process **out, struct err *e)
{
	struct child_entry *c;

	process_load();
	c = child_find(&process_table, id);
	*out = c != NULL ? process_of(c) : NULL;
	if (c == NULL)
		return err_set(e, ERR_NOT_FOUND, CODE_PROCESS_NOT_FOUND,
		    "Process '%s' not found", id);
	return 0;
}

void
process_release(struct process *p)
{
	child_release(&p->entry);
}

struct process **
process_all(size_t *count)
{
	auto_free struct child_entry **entries = NULL;
	struct process **all;

	process_load();
	entries = child_all(&process_table, count);
	all = xcalloc(*count, sizeof(struct process *));
	for (size_t i = 0; i < *count; i++)
		all[i] = process_of(entries[i]);
	return all;
}

const char *
process_id(const struct process *p)
{
	return p->rec.id;
}

struct process_end
process_now(struct process *p)
{
	struct process_end now;

	child_lock(&process_table);
	now = p->rec.end;
	child_unlock(&process_table);
	return now;
}

json_t *
process_json(struct process *p)
{
	const struct process_record *r = &p->rec;
	struct process_end now = process_now(p);
	int64_t lost = atomic_load(&p->log.lost);
	json_t *o = json_pack("{s:s, s:o, s:s, s:s, s:s}", "id", r->id,
	    "command", json_lossy(r->command), "status",
	    PROCESS_STATUS_NAMES[now.status], "startTime", r->start,
	    "sessionId", r->shell);

	if (r->pid > 0)
		json_object_set_new(o, "pid", json_integer(r->pid));
	if (now.at[0] != '\0')
		json_object_set_new(o, "endTime", json_string(now.at));
	if (now.status != PROCESS_RUNNING)
		json_object_set_new(o, "exitCode", json_integer(now.exit_code));
	if (now.timed_out)
		json_object_set_new(o, "timedOut", json_true());
	if (lost > 0)
		json_object_set_new(o, "droppedBytes", json_integer(lost));
	return o;
}

int
process_not_running(const struct process *p, struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_COMMAND_NOT_FOUND,
	    "Process '%s' has ended", p->rec.id);
}

size_t
process_cleanup(void)
{
	struct child_table *t = &process_table;
	size_t n = 0;

	process_load();
	child_lock(t);
	for (size_t i = t->count; i-- > 0;)
		if (t->all[i]->ended) {
			child_remove(t->all[i]);
			n++;
		}
	child_unlock(t);
	return n;
}

/* ---- output */

const struct ring *
process_log_begin(struct process *p)
{
	char path[PROCESS_PATH_MAX];
	struct ring again;
	struct err ignored;

	child_lock(&process_table);
	if (p->readers++ == 0 && p->entry.ended && p->entry.listed) {
		process_store_log(p->rec.id, path);
		/* if the file is gone, its bytes are lost; counters stay */
		if (ring_open(&again, path, &ignored) == 0)
			p->log = again;
	}
	child_unlock(&process_table);
	return &p->log;
}

void
process_log_end(struct process *p)
{
	child_lock(&process_table);
	if (--p->readers == 0 && p->entry.ended)
		ring_close(&p->log);
	child_unlock(&process_table);
}

int
process_watch(struct process *p, struct child_watch *w, struct err *e)
{
	return child_watch(&p->entry, w, e);
}

void
process_unwatch(struct process *p, struct child_watch *w)
{
	child_unwatch(&p->entry, w);
}
