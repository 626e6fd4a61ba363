/* context.c: keeps the code contexts of a session and runs code cells. */
#include "agent/code/context.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>

#include "agent/base/lock.h"
#include "agent/run/interrupt.h"
#include "common/clock.h"
#include "common/mem.h"

enum { LEAVE_MS = 1000 }; /* for a cell to leave its deleted context */

struct context {
	char id[CONTEXT_ID_MAX];
	char created_at[CLOCK_ISO_MAX];
	enum kernel_language language;
	char *cwd;
	json_t *env;
	bool is_default; /* for callers that name none */

	/* protected by the table's lock */
	int refs;             /* reference count: table and callers */
	bool held;            /* one caller holds it and owns the rest */
	bool deleted;         /* removed from the table */
	bool up;              /* its first kernel has started */
	pthread_cond_t freed; /* signalled when `held` becomes false */

	struct kernel kernel;
	int64_t cells; /* how many were run */
};

static struct lock lock = LOCK_INIT(LOCK_CONTEXT);
/* signalled when a first kernel has started or failed to start */
static pthread_cond_t settled = PTHREAD_COND_INITIALIZER;
static struct context *contexts[CONTEXTS_MAX];

/* ---- the table; the caller has the lock, except for wake_waiters() */

static struct context **
slot_of(const struct context *x)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++)
		if (contexts[i] == x)
			return &contexts[i];
	return NULL;
}

static struct context *
default_of(enum kernel_language l)
{
	for (size_t i = 0; i < CONTEXTS_MAX; i++)
		if (contexts[i] != NULL && contexts[i]->is_default &&
		    contexts[i]->language == l)
			return contexts[i];
	return NULL;
}

/* Drops the table's reference; the caller has one too, so x stays valid. */
static void
remove_from_table(struct context *x)
{
	struct context **slot = slot_of(x);

	if (slot == NULL)
		return;
	*slot = NULL;
	x->deleted = true;
	x->refs--;
}

/* Makes cells that wait for their turn check for an interruption. */
static void
wake_waiters(void)
{
	lock_take(&lock);
	for (size_t i = 0; i < CONTEXTS_MAX; i++)
		if (contexts[i] != NULL)
			pthread_cond_broadcast(&contexts[i]->freed);
	lock_drop(&lock);
}

/* Makes a random UUID (version 4). */
static void
make_id(char out[CONTEXT_ID_MAX])
{
	unsigned char b[16];
	size_t at = 0;

	(void)!getrandom(b, sizeof(b), 0);
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	for (size_t i = 0; i < sizeof(b); i++) {
		bool dash = i == 4 || i == 6 || i == 8 || i == 10;

		at += (size_t)snprintf(out + at, CONTEXT_ID_MAX - at, "%s%02x",
		    dash ? "-" : "", b[i]);
	}
}

/* Makes a new context; the caller holds it and has a reference. */
static struct context *
add_context(const struct kernel_place *at, struct err *e)
{
	struct context **slot = slot_of(NULL), *x;

	if (slot == NULL) {
		err_set(e, ERR_LIMITED, CODE_TOO_MANY_CONTEXTS,
		    "at most %d code contexts can exist; delete some",
		    CONTEXTS_MAX);
		return NULL;
	}
	interrupt_on_tell(wake_waiters);
	x = *slot = xcalloc(1, sizeof(*x));
	make_id(x->id);
	clock_iso(x->created_at);
	x->language = at->language;
	x->cwd = xstrdup(at->cwd);
	x->env = json_deep_copy(at->env);
	x->kernel.child.pid = -1;
	x->refs = 2;
	x->held = true;
	pthread_cond_init(&x->freed, NULL);
	return x;
}

/* ---- callers */

const char *
context_id(const struct context *x)
{
	return x->id;
}

const char *
context_cwd(const struct context *x)
{
	return x->cwd;
}

const char *
context_language(const struct context *x)
{
	return kernel_name(x->language);
}

bool
context_enter(struct context *x, struct interrupt_job *job, int64_t until_ms)
{
	bool mine, in_time = true;

	lock_take(&lock);
	while (x->held && in_time &&
	    (job == NULL || interrupt_told(job) == INTERRUPT_NOT))
		in_time = lock_wait_until(&x->freed, &lock, until_ms);
	mine = !x->held;
	x->held = true;
	lock_drop(&lock);
	return mine;
}

void
context_leave(struct context *x)
{
	lock_take(&lock);
	x->held = false;
	pthread_cond_signal(&x->freed);
	lock_drop(&lock);
}

void
context_release(struct context *x)
{
	bool last;

	lock_take(&lock);
	last = --x->refs == 0;
	lock_drop(&lock);
	if (!last)
		return;
	kernel_end(&x->kernel);
	pthread_cond_destroy(&x->freed);
	json_decref(x->env);
	free(x->cwd);
	free(x);
}

static int
start_kernel(struct context *x, struct err *e)
{
	return kernel_start(&x->kernel,
	    &(struct kernel_place){ .language = x->language,
		.cwd = x->cwd,
		.env = x->env },
	    e);
}

/* Starts the first kernel; removes the context if that fails. */
static int
start_first_kernel(struct context *x, struct err *e)
{
	int rc = start_kernel(x, e);

	lock_take(&lock);
	x->up = rc == 0;
	if (!x->up)
		remove_from_table(x);
	pthread_cond_broadcast(&settled);
	lock_drop(&lock);
	context_leave(x);
	if (rc < 0)
		context_release(x);
	return rc;
}

int
context_create(const struct kernel_place *at, struct context **out,
    struct err *e)
{
	struct context *x;

	lock_take(&lock);
	x = add_context(at, e);
	lock_drop(&lock);
	if (x == NULL || start_first_kernel(x, e) < 0)
		return -1;
	*out = x;
	return 0;
}

int
context_find(const char *id, struct context **out, struct err *e)
{
	lock_take(&lock);
	*out = NULL;
	for (size_t i = 0; i < CONTEXTS_MAX; i++)
		if (contexts[i] != NULL && str_equal(contexts[i]->id, id))
			*out = contexts[i];
	if (*out != NULL)
		(*out)->refs++;
	lock_drop(&lock);
	if (*out == NULL)
		return err_set(e, ERR_NOT_FOUND, CODE_CONTEXT_NOT_FOUND,
		    "Context '%.64s' not found", id);
	return 0;
}

int
context_default(enum kernel_language l, struct context **out, struct err *e)
{
	struct kernel_place at = { .language = l, .cwd = "/workspace" };
	struct context *x;
	bool made = false;

	lock_take(&lock);
	/*
	 * Wait while another caller starts it.  If that start fails, the context
	 * is gone: this caller tries too and gets an error of its own.
	 */
	while ((x = default_of(l)) != NULL && !x->up)
		lock_wait(&settled, &lock);
	if (x != NULL) {
		x->refs++;
	} else {
		x = add_context(&at, e);
		made = x != NULL;
		if (made)
			x->is_default = true;
	}
	lock_drop(&lock);
	if (x == NULL || (made && start_first_kernel(x, e) < 0))
		return -1;
	*out = x;
	return 0;
}

json_t *
context_list(void)
{
	json_t *all = json_array();

	lock_take(&lock);
	for (size_t i = 0; i < CONTEXTS_MAX; i++) {
		const struct context *x = contexts[i];

		if (x != NULL)
			json_array_append_new(all,
			    json_pack("{s:s, s:s, s:s, s:s, s:b}", "id", x->id,
				"language", kernel_name(x->language), "cwd",
				x->cwd, "createdAt", x->created_at, "running",
				x->held));
	}
	lock_drop(&lock);
	return all;
}

int
context_delete(const char *id, struct err *e)
{
	struct context *x;

	if (context_find(id, &x, e) < 0)
		return -1;
	lock_take(&lock);
	remove_from_table(x);
	lock_drop(&lock);
	interrupt_shell(x->id);
	/*
	 * A cell whose client does not read may still hold the context.  Its
	 * kernel is dead then, and the last context_release() frees the rest.
	 */
	if (context_enter(x, NULL, clock_ms() + LEAVE_MS)) {
		kernel_end(&x->kernel);
		context_leave(x);
	}
	context_release(x);
	return 0;
}

/* ---- running */

static bool
is_deleted(const struct context *x)
{
	bool deleted;

	lock_take(&lock);
	deleted = x->deleted;
	lock_drop(&lock);
	return deleted;
}

int
context_run(struct context *x, const struct kernel_cell *cell,
    struct kernel_outcome *out, int64_t *count, struct err *e)
{
	*out = (struct kernel_outcome){ 0 };
	*count = ++x->cells;
	if (is_deleted(x)) {
		out->how = KERNEL_DESTROYED;
		return 0;
	}
	if (interrupt_told(cell->job) != INTERRUPT_NOT) {
		out->how = KERNEL_INTERRUPTED;
		return 0;
	}
	/* the kernel died between two cells: report that before a restart */
	if (x->kernel.child.pid > 0 && !kernel_lives(&x->kernel)) {
		*out = (struct kernel_outcome){ .how = KERNEL_DIED,
			.lost = true,
			.exit_code = kernel_bury(&x->kernel) };
		return 0;
	}
	if (x->kernel.child.pid <= 0 && start_kernel(x, e) < 0)
		return -1;
	if (cell->deadline_ms > 0 && clock_left_ms(cell->deadline_ms) == 0) {
		out->how = KERNEL_TIMED_OUT;
		return 0;
	}
	kernel_run(&x->kernel, cell, out);
	return 0;
}
