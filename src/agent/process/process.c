/* process.c: the table of a session's background processes. */
#include "agent/process/process.h"

#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "agent/process/internal.h"
#include "common/mem.h"

pthread_mutex_t process_lock = PTHREAD_MUTEX_INITIALIZER;
pthread_cond_t process_changed = PTHREAD_COND_INITIALIZER;

/* in the order in which they began */
static struct process **table;
static size_t count, room;
static bool loaded;

/* ---- who is there; all with the lock held */

static void
drop(struct process *p)
{
	if (--p->refs > 0)
		return;
	ring_close(&p->log);
	mem_close_fd(&p->input);
	free(p->rec.command);
	free(p);
}

static bool
lives(const struct process *p)
{
	return p->rec.end.status == PROCESS_RUNNING;
}

static size_t
index_of(const char *id)
{
	size_t i = 0;

	while (i < count && !str_equal(table[i]->rec.id, id))
		i++;
	return i;
}

void
process_enter(struct process *p)
{
	if (count == room) {
		room = room > 0 ? 2 * room : 16;
		table = xrealloc(table, room * sizeof(*table));
	}
	p->refs++;
	table[count++] = p;
}

void
process_remove(struct process *p)
{
	size_t i = index_of(p->rec.id);

	process_store_remove(p->rec.id);
	p->removed = true;
	for (count--; i < count; i++)
		table[i] = table[i + 1];
	drop(p);
}

/* Keeps the newest of those that have ended. */
static void
forget_oldest(void)
{
	const int64_t most = (int64_t)PROCESS_LOGS_MB_MAX << 20;
	size_t ended = 0;
	int64_t bytes = 0;

	for (size_t i = count; i-- > 0;) {
		struct process *p = table[i];

		if (lives(p))
			continue;
		bytes += p->log_bytes;
		if (++ended > PROCESS_ENDED_MAX || bytes > most) {
			bytes -= p->log_bytes;
			process_remove(p);
		}
	}
}

/* What an earlier wrapper knew. */
static void
load(void)
{
	size_t n;
	auto_free struct process_record *all = NULL;

	if (loaded)
		return;
	loaded = true;
	all = process_store_load(&n);
	for (size_t i = 0; i < n; i++) {
		struct process *p = xcalloc(1, sizeof(*p));

		*p = (struct process){ .rec = all[i],
			.log = { .fd = -1 },
			.input = -1,
			.log_bytes = process_store_bytes(all[i].id) };
		process_enter(p);
	}
	forget_oldest();
}

size_t
process_living(void)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += lives(table[i]);
	return n;
}

int
process_admit(const char *id, struct err *e)
{
	size_t i;

	load();
	i = index_of(id);
	if (i < count && lives(table[i]))
		return err_set(e, ERR_CONFLICT, CODE_PROCESS_ALREADY_EXISTS,
		    "Process '%s' already exists", id);
	if (process_living() >= PROCESS_LIVING_MAX)
		return err_set(e, ERR_LIMITED, CODE_TOO_MANY_PROCESSES,
		    "there may be %d processes at once", PROCESS_LIVING_MAX);
	if (i < count)
		process_remove(table[i]);
	return 0;
}

void
process_wake(const struct process *p)
{
	for (const struct process_watch *w = p->watches; w != NULL; w = w->next)
		(void)!eventfd_write(w->fd, 1);
}

void
process_ended(struct process *p, const struct process_end *how)
{
	p->rec.end = *how;
	if (p->readers == 0)
		ring_close(&p->log);
	if (!p->input_busy)
		mem_close_fd(&p->input);
	process_wake(p);
	pthread_cond_broadcast(&process_changed);
	forget_oldest();
}

/* ---- for everybody else */

int
process_find(const char *id, struct process **out, struct err *e)
{
	size_t i;

	pthread_mutex_lock(&process_lock);
	load();
	i = index_of(id);
	*out = i < count ? table[i] : NULL;
	if (*out != NULL)
		(*out)->refs++;
	pthread_mutex_unlock(&process_lock);
	if (*out == NULL)
		return err_set(e, ERR_NOT_FOUND, CODE_PROCESS_NOT_FOUND,
		    "Process '%s' not found", id);
	return 0;
}

void
process_release(struct process *p)
{
	pthread_mutex_lock(&process_lock);
	drop(p);
	pthread_mutex_unlock(&process_lock);
}

struct process **
process_all(size_t *n)
{
	struct process **all;

	pthread_mutex_lock(&process_lock);
	load();
	all = xcalloc(count, sizeof(*all));
	*n = count;
	for (size_t i = 0; i < count; i++) {
		all[i] = table[i];
		all[i]->refs++;
	}
	pthread_mutex_unlock(&process_lock);
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

	pthread_mutex_lock(&process_lock);
	now = p->rec.end;
	pthread_mutex_unlock(&process_lock);
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

size_t
process_cleanup(void)
{
	size_t n = 0;

	pthread_mutex_lock(&process_lock);
	load();
	for (size_t i = count; i-- > 0;)
		if (!lives(table[i])) {
			process_remove(table[i]);
			n++;
		}
	pthread_mutex_unlock(&process_lock);
	return n;
}

void
process_sweep(void)
{
	int64_t before = clock_ms() - PROCESS_CLEANUP_MS;

	pthread_mutex_lock(&process_lock);
	for (size_t i = count; i-- > 0;)
		if (!lives(table[i]) && table[i]->rec.auto_cleanup &&
		    table[i]->ended_ms < before)
			process_remove(table[i]);
	pthread_mutex_unlock(&process_lock);
}

/* ---- output */

const struct ring *
process_log_begin(struct process *p)
{
	char path[PROCESS_PATH_MAX];
	struct ring again;
	struct err ignored;

	pthread_mutex_lock(&process_lock);
	if (p->readers++ == 0 && !lives(p) && !p->removed) {
		process_store_log(p->rec.id, path);
		/* without it, what was once counted is gone */
		if (ring_open(&again, path, &ignored) == 0)
			p->log = again;
	}
	pthread_mutex_unlock(&process_lock);
	return &p->log;
}

void
process_log_end(struct process *p)
{
	pthread_mutex_lock(&process_lock);
	if (--p->readers == 0 && !lives(p))
		ring_close(&p->log);
	pthread_mutex_unlock(&process_lock);
}

int
process_watch(struct process *p, struct process_watch *w, struct err *e)
{
	w->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (w->fd < 0)
		return err_errno(e, "eventfd");
	pthread_mutex_lock(&process_lock);
	w->next = p->watches;
	p->watches = w;
	pthread_mutex_unlock(&process_lock);
	return 0;
}

void
process_unwatch(struct process *p, struct process_watch *w)
{
	pthread_mutex_lock(&process_lock);
	for (struct process_watch **at = &p->watches; *at != NULL;
	     at = &(*at)->next)
		if (*at == w) {
			*at = w->next;
			break;
		}
	pthread_mutex_unlock(&process_lock);
	mem_close_fd(&w->fd);
}
