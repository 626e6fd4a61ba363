/* faulty.c: makes calls of a provider fail or hang in tests. */
#include "provider/choose/faulty.h"

#include "common/fault.h"

/* The operations without faults.  Static: a process has one provider. */
static const struct provider_ops *real;

#define FAULTY(op, call)                                                       \
	do {                                                                   \
		if (fault_before("", op, e) < 0)                               \
			return -1;                                             \
		if ((call) < 0)                                                \
			return -1;                                             \
		return fault_after("", op, e);                                 \
	} while (0)

static int
faulty_ensure(const struct provider *p, const struct sandbox_spec *s,
    int64_t deadline_ms, struct err *e)
{
	FAULTY("ensure", real->ensure(p, s, deadline_ms, e));
}

static int
faulty_inspect(const struct provider *p, const char *id,
    struct sandbox_seen *out, struct err *e)
{
	FAULTY("inspect", real->inspect(p, id, out, e));
}

static int
faulty_list(const struct provider *p, struct sandbox_seen **out, size_t *count,
    struct err *e)
{
	FAULTY("list", real->list(p, out, count, e));
}

static int
faulty_stop(const struct provider *p, const char *id, const char *incarnation,
    int64_t deadline_ms, struct err *e)
{
	FAULTY("stop", real->stop(p, id, incarnation, deadline_ms, e));
}

static int
faulty_destroy(const struct provider *p, const char *id,
    const char *incarnation, int64_t deadline_ms, struct err *e)
{
	FAULTY("destroy", real->destroy(p, id, incarnation, deadline_ms, e));
}

static int
faulty_suspend(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e)
{
	FAULTY("suspend", real->suspend(p, t, order, deadline_ms, e));
}

static int
faulty_resume(const struct provider *p, const struct agent_target *t,
    int64_t order, int64_t deadline_ms, struct err *e)
{
	FAULTY("resume", real->resume(p, t, order, deadline_ms, e));
}

static int
faulty_measure(const struct provider *p, const char *id, struct capacity *out,
    struct err *e)
{
	FAULTY("capacity", real->capacity(p, id, out, e));
}

/* A fault "no space" here means a full disk, which can still be measured. */
static int
faulty_capacity(const struct provider *p, const char *id, struct capacity *out,
    struct err *e)
{
	if (faulty_measure(p, id, out, e) == 0)
		return 0;
	*out = (struct capacity){ 0 };
	return e->kind == ERR_NO_SPACE ? 0 : -1;
}

static int
faulty_storage_make(const struct provider *p, const char *id,
    const char *session, struct err *e)
{
	FAULTY("storage_make", real->storage_make(p, id, session, e));
}

static int
faulty_storage_from(const struct provider *p, const char *id,
    const char *session, const struct snapshot_ref *s, int64_t deadline_ms,
    struct err *e)
{
	FAULTY("storage_from",
	    real->storage_from(p, id, session, s, deadline_ms, e));
}

static int
faulty_snapshot_take(const struct provider *p, const struct snapshot_ref *s,
    const struct agent_target *t, const struct snapshot_bounds *most,
    int64_t deadline_ms, struct err *e)
{
	FAULTY("snapshot_take",
	    real->snapshot_take(p, s, t, most, deadline_ms, e));
}

static int
faulty_snapshot_look(const struct provider *p, const struct snapshot_ref *s,
    struct snapshot_seen *out, struct err *e)
{
	FAULTY("snapshot_look", real->snapshot_look(p, s, out, e));
}

static int
faulty_snapshot_drop(const struct provider *p, const struct snapshot_ref *s,
    struct err *e)
{
	FAULTY("snapshot_drop", real->snapshot_drop(p, s, e));
}

static int
faulty_storage_exists(const struct provider *p, const char *id,
    const char *session, bool *out, struct err *e)
{
	FAULTY("storage_exists", real->storage_exists(p, id, session, out, e));
}

static int
faulty_storage_drop(const struct provider *p, const char *id,
    const char *session, struct err *e)
{
	FAULTY("storage_drop", real->storage_drop(p, id, session, e));
}

static int
faulty_cell_gone(const struct provider *p, const char *id, const char *session,
    bool *gone, struct err *e)
{
	FAULTY("cell_gone", real->cell_gone(p, id, session, gone, e));
}

static int
faulty_run_open(const struct provider *p, const struct run_spec *r,
    struct run_group *out, struct err *e)
{
	FAULTY("run_open", real->run_open(p, r, out, e));
}

static int
faulty_run_remove(const struct provider *p, const struct run_spec *r,
    int64_t deadline_ms, struct err *e)
{
	FAULTY("run_remove", real->run_remove(p, r, deadline_ms, e));
}

static int
faulty_usage(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct usage *out, struct err *e)
{
	FAULTY("usage", real->usage(p, t, deadline_ms, out, e));
}

const struct provider_ops *
provider_faulty(const struct provider_ops *ops)
{
	static struct provider_ops faulty;

	if (ops == NULL)
		return NULL;
	real = ops;
	faulty = *ops; /* operations not listed below have no faults */
	faulty.ensure = faulty_ensure;
	faulty.inspect = faulty_inspect;
	faulty.list = faulty_list;
	faulty.stop = faulty_stop;
	faulty.destroy = faulty_destroy;
	if (ops->suspend != NULL)
		faulty.suspend = faulty_suspend;
	if (ops->resume != NULL)
		faulty.resume = faulty_resume;
	faulty.capacity = faulty_capacity;
	faulty.storage_make = faulty_storage_make;
	faulty.storage_from = faulty_storage_from;
	faulty.storage_exists = faulty_storage_exists;
	faulty.storage_drop = faulty_storage_drop;
	faulty.cell_gone = faulty_cell_gone;
	faulty.run_open = faulty_run_open;
	faulty.run_remove = faulty_run_remove;
	faulty.usage = faulty_usage;
	faulty.snapshot_take = faulty_snapshot_take;
	faulty.snapshot_look = faulty_snapshot_look;
	faulty.snapshot_drop = faulty_snapshot_drop;
	return &faulty;
}
