/*
 * shell.c: keeps the table of persistent shells, and gives a shell to one thread
 * at a time.
 */
#include "agent/shell/shell.h"

#include <stdlib.h>

#include "agent/base/lock.h"
#include "agent/shell/envset.h"
#include "agent/shell/internal.h"
#include "common/clock.h"
#include "common/mem.h"

/* More than the two seconds in which an interrupted command ends. */
enum { DELETE_MS = 10000 };

static struct lock table_lock = LOCK_INIT(LOCK_SHELL);
static struct shell *shells[SHELLS_MAX];
static size_t (*also_delete)(const char *name);

/* Makes commands that wait for their turn check for an interruption. */
static void
wake_waiters(void)
{
	lock_take(&table_lock);
	for (size_t i = 0; i < SHELLS_MAX; i++)
		if (shells[i] != NULL)
			pthread_cond_broadcast(&shells[i]->freed);
	lock_drop(&table_lock);
}

void
shell_open(const char *instance)
{
	shell_run_open(instance);
	interrupt_on_tell(wake_waiters);
}

void
shell_on_delete(size_t (*also)(const char *name))
{
	also_delete = also;
}

/* ---- the table; the caller has table_lock */

static struct shell **
slot_of(const char *name)
{
	for (size_t i = 0; i < SHELLS_MAX; i++)
		if (shells[i] != NULL && str_equal(shells[i]->name, name))
			return &shells[i];
	return NULL;
}

static void
unref_locked(struct shell *s)
{
	if (--s->refs > 0)
		return;
	shell_kill(s);
	pthread_cond_destroy(&s->freed);
	lock_destroy(&s->exports_lock);
	answers_reset(&s->answers);
	json_decref(s->env);
	free(s->cwd);
	free(s);
}

/*
 * Returns a free slot, or NULL.  When all are taken, frees that of a dead shell
 * to which only the table refers.
 */
static struct shell **
free_slot(void)
{
	struct shell **dead = NULL;

	for (size_t i = 0; i < SHELLS_MAX; i++) {
		if (shells[i] == NULL)
			return &shells[i];
		if (shells[i]->over && shells[i]->refs == 1)
			dead = &shells[i];
	}
	if (dead != NULL) {
		unref_locked(*dead);
		*dead = NULL;
	}
	return dead;
}

static struct shell *
add_shell(const char *name, struct err *e)
{
	struct shell **slot = free_slot();
	struct shell *s;

	if (slot == NULL) {
		err_set(e, ERR_LIMITED, CODE_TOO_MANY_SESSIONS,
		    "at most %d shell sessions can exist", SHELLS_MAX);
		return NULL;
	}
	s = *slot = xcalloc(1, sizeof(*s));
	str_copy(s->name, sizeof(s->name), name);
	pthread_cond_init(&s->freed, NULL);
	lock_init(&s->exports_lock, LOCK_SHELL_EXPORTS);
	s->pid = -1;
	s->proc.child = (struct child){ -1, -1 };
	s->refs = 1;
	return s;
}

/* ---- holding */

/*
 * Waits until the shell is free and holds it; the caller has table_lock.  False
 * when the deadline has passed or the job (may be NULL) was interrupted.
 */
static bool
wait_for_turn(struct shell *s, struct interrupt_job *job, int64_t deadline_ms)
{
	bool in_time = true;

	while (s->held && in_time &&
	    (job == NULL || interrupt_told(job) == INTERRUPT_NOT)) {
		if (deadline_ms == 0)
			lock_wait(&s->freed, &table_lock);
		else
			in_time = lock_wait_until(&s->freed, &table_lock,
			    deadline_ms);
	}
	if (s->held)
		return false;
	s->held = true;
	return true;
}

static void
release_locked(struct shell *s)
{
	s->held = false;
	pthread_cond_signal(&s->freed);
	unref_locked(s);
}

struct shell *
shell_try_hold(const char *name, bool *held)
{
	struct shell **slot, *s;

	lock_take(&table_lock);
	slot = slot_of(name);
	s = slot != NULL ? *slot : NULL;
	if (s != NULL) {
		s->refs++;
		*held = !s->held;
		s->held = true;
	}
	lock_drop(&table_lock);
	return s;
}

void
shell_unref(struct shell *s)
{
	lock_take(&table_lock);
	unref_locked(s);
	lock_drop(&table_lock);
}

void
shell_release(struct shell *s)
{
	lock_take(&table_lock);
	release_locked(s);
	lock_drop(&table_lock);
}

static int
hold_locked(const char *name, struct interrupt_job *job, int64_t deadline_ms,
    struct shell **out, struct err *e)
{
	struct shell **slot = slot_of(name);
	struct shell *s = slot != NULL ? *slot : add_shell(name, e);

	if (s == NULL)
		return -1;
	s->refs++;
	if (!wait_for_turn(s, job, deadline_ms)) {
		unref_locked(s);
		return err_set(e, ERR_BUSY, CODE_BUSY,
		    "the shell runs another command");
	}
	if (s->deleted) {
		release_locked(s);
		return shell_destroyed(name, e);
	}
	*out = s;
	return 0;
}

int
shell_hold(const char *name, struct interrupt_job *job, int64_t deadline_ms,
    struct shell **out, struct err *e)
{
	int rc;

	lock_take(&table_lock);
	rc = hold_locked(name, job, deadline_ms, out, e);
	lock_drop(&table_lock);
	return rc;
}

/* ---- by name */

/* True when the shell is dead, even if no call has noticed it yet. */
static bool
is_dead(const struct shell *s)
{
	return s->over || (!s->held && s->pid > 0 && !shell_lives(s));
}

/* Makes a new shell, already held; a dead one of that name is replaced. */
static struct shell *
make_new(const char *name, const struct shell_options *o, struct err *e)
{
	struct shell **old = slot_of(name);
	struct shell *s;

	if (old != NULL && !is_dead(*old)) {
		err_set(e, ERR_CONFLICT, CODE_SESSION_ALREADY_EXISTS,
		    "Session '%s' already exists", name);
		return NULL;
	}
	if (old != NULL) {
		(*old)->deleted = true; /* threads that wait for it give up */
		unref_locked(*old);
		*old = NULL;
	}
	s = add_shell(name, e);
	if (s == NULL)
		return NULL;
	s->env = json_deep_copy(o->env);
	s->cwd = str_empty(o->cwd) ? NULL : xstrdup(o->cwd);
	s->timeout_ms = o->timeout_ms;
	s->refs++;
	s->held = true;
	return s;
}

int
shell_create(const char *name, const struct shell_options *o, struct err *e)
{
	struct shell *s;
	int rc;

	lock_take(&table_lock);
	s = make_new(name, o, e);
	lock_drop(&table_lock);
	if (s == NULL)
		return -1;
	rc = shell_start(s, shell_home(s), e);
	if (rc < 0)
		s->over = true;
	shell_release(s);
	return rc;
}

json_t *
shell_list(void)
{
	json_t *names = json_array();

	lock_take(&table_lock);
	for (size_t i = 0; i < SHELLS_MAX; i++)
		if (shells[i] != NULL && !is_dead(shells[i]))
			json_array_append_new(names,
			    json_lossy(shells[i]->name));
	lock_drop(&table_lock);
	return names;
}

int
shell_delete(const char *name, struct err *e)
{
	struct shell **slot, *s = NULL;
	bool ours;

	lock_take(&table_lock);
	slot = slot_of(name);
	if (slot != NULL && !is_dead(*slot)) {
		s = TAKE(*slot); /* now s has the table's reference */
		s->deleted = true;
	}
	lock_drop(&table_lock);
	if (s == NULL)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL_ERROR,
		    "Session '%s' not found", name);
	interrupt_shell(name);
	lock_take(&table_lock);
	ours = wait_for_turn(s, NULL, clock_ms() + DELETE_MS);
	if (!ours)
		unref_locked(s); /* the holder's release will kill the shell */
	lock_drop(&table_lock);
	if (!ours)
		return err_set(e, ERR_UNAVAILABLE, CODE_STILL_RUNNING,
		    "a command in session '%s' has not ended yet", name);
	shell_kill(s);
	shell_release(s);
	if (also_delete != NULL)
		(void)also_delete(name);
	return 0;
}

int64_t
shell_timeout_ms(const char *name)
{
	static const char VARIABLE[] = "COMMAND_TIMEOUT_MS";
	struct shell **slot;
	int64_t ms = 0;

	lock_take(&table_lock);
	slot = slot_of(name);
	if (slot != NULL) {
		const json_t *v = json_object_get((*slot)->env, VARIABLE);

		ms = (*slot)->timeout_ms;
		if (ms == 0 && json_is_string(v))
			(void)str_to_int(json_string_value(v), 1,
			    SHELL_TIMEOUT_MS_MAX, &ms);
	}
	lock_drop(&table_lock);
	return ms > 0 ? ms : envset_number(VARIABLE, SHELL_TIMEOUT_MS_MAX);
}

void
shell_cwd(const char *name, char out[SHELL_PATH_MAX])
{
	struct shell **slot;
	pid_t pid = -1;

	lock_take(&table_lock);
	slot = slot_of(name);
	if (slot != NULL)
		pid = (*slot)->pid;
	lock_drop(&table_lock);
	shell_proc_cwd(pid, out);
}
