/* ops.c: the operations of the provider in memory. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/proc.h"
#include "world.h"

/*
 * -1 when the script lets the call fail; *lose when the call shall succeed and
 * only its answer be lost.
 */
int
fake_play(const char *op, int64_t deadline_ms, bool *lose, struct err *e)
{
	enum fake_how how = fake_next(op);

	*lose = how == FAKE_LOSE;
	if (how == FAKE_WORK || how == FAKE_LOSE)
		return 0;
	if (how == FAKE_HANG) {
		while (clock_left_ms(deadline_ms) > 0)
			proc_nap(deadline_ms);
		return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
		    "the fake hung");
	}
	errno = how == FAKE_FULL ? ENOSPC : EACCES;
	if (how == FAKE_FULL || how == FAKE_DENIED)
		return err_errno(e, "the fake's %s", op);
	if (how == FAKE_DEAF)
		return err_set(e, ERR_UNAVAILABLE, CODE_NOT_LISTENING,
		    "nobody listens there");
	if (how == FAKE_BROKEN)
		return err_set(e, ERR_UNAVAILABLE, CODE_ENGINE_BROKEN,
		    "the fake is broken");
	return err_set(e, ERR_UNAVAILABLE, FAKE_CODE, "the fake failed");
}

/* Releases the world's lock and returns the result of the operation. */
int
fake_finish(int rc, bool lose, struct err *e)
{
	pthread_mutex_unlock(&FAKE.lock);
	if (rc == 0 && lose)
		return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
		    "the fake's answer was lost");
	return rc;
}

/* For operations that have no deadline: a hang is a failure. */
int
fake_begin(const char *op, bool *lose, struct err *e)
{
	if (fake_play(op, 0, lose, e) < 0)
		return -1;
	pthread_mutex_lock(&FAKE.lock);
	return 0;
}

/* Makes only the directory in which agent_launch() creates real sockets. */
static int
open_fake(const struct provider *p, struct err *e)
{
	auto_free char *s = xasprintf("%s/s", p->conf->run_dir);

	if ((mkdir(p->conf->run_dir, 0700) < 0 && errno != EEXIST) ||
	    (mkdir(s, 0700) < 0 && errno != EEXIST))
		return err_errno(e, "%s", s);
	return 0;
}

static int
check(const struct provider *p, struct err *e)
{
	(void)p, (void)e;
	return 0;
}

static int
ensure(const struct provider *p, const struct sandbox_spec *s,
    int64_t deadline_ms, struct err *e)
{
	struct fake_box *b;
	bool lose;
	int rc;

	(void)p;
	if (fake_play("ensure", deadline_ms, &lose, e) < 0)
		return -1;
	pthread_mutex_lock(&FAKE.lock);
	b = fake_find_box(s->id, true);
	rc = record_check_ensure(&b->record, s, b->runs, e);
	if (rc == 0 &&
	    !(b->runs && str_equal(b->record.incarnation, s->incarnation))) {
		fake_end_box(b);
		record_start(&b->record, s);
	}
	if (rc == 0) {
		b->record.state = RECORD_LIVE;
		b->runs = true;
	}
	return fake_finish(rc, lose, e);
}

static bool
has_storage(const char *id)
{
	for (size_t i = 0; i < FAKE_CELLS; i++)
		if (FAKE.cell[i].storage && str_equal(FAKE.cell[i].box, id))
			return true;
	return false;
}

static void
see(const struct fake_box *b, struct sandbox_seen *out)
{
	const struct record *r = &b->record;
	bool known = r->state != RECORD_NONE && r->state != RECORD_DESTROYED;

	str_copy(out->id, sizeof(out->id), b->id);
	if (known || b->runs)
		str_copy(out->incarnation, sizeof(out->incarnation),
		    r->incarnation);
	out->presence = b->runs           ? PRESENCE_RUNNING
	    : known || has_storage(b->id) ? PRESENCE_STOPPED
					  : PRESENCE_ABSENT;
	out->unanswered = b->runs && r->state == RECORD_STARTING;
}

static int
inspect(const struct provider *p, const char *id, struct sandbox_seen *out,
    struct err *e)
{
	enum fake_how how = fake_next("inspect");
	const struct fake_box *b;

	(void)p;
	*out = (struct sandbox_seen){ .presence = PRESENCE_UNKNOWN };
	str_copy(out->id, sizeof(out->id), id);
	if (how == FAKE_UNKNOWN)
		return 0;
	if (how != FAKE_WORK)
		return err_set(e, ERR_UNAVAILABLE, FAKE_CODE,
		    "the fake failed");
	pthread_mutex_lock(&FAKE.lock);
	b = fake_find_box(id, false);
	out->presence = PRESENCE_ABSENT;
	if (b != NULL)
		see(b, out);
	pthread_mutex_unlock(&FAKE.lock);
	return 0;
}

static int
list(const struct provider *p, struct sandbox_seen **out, size_t *count,
    struct err *e)
{
	bool lose;

	(void)p;
	*out = NULL;
	*count = 0;
	if (fake_begin("list", &lose, e) < 0)
		return -1;
	*out = xcalloc(FAKE_BOXES, sizeof(**out));
	for (size_t i = 0; i < FAKE_BOXES; i++) {
		if (FAKE.box[i].id[0] == '\0')
			continue;
		see(&FAKE.box[i], &(*out)[*count]);
		if ((*out)[*count].presence != PRESENCE_ABSENT)
			++*count;
	}
	return fake_finish(0, false, e);
}

static int
end(const char *op, const char *id, const char *incarnation,
    int64_t deadline_ms, bool destroy, struct err *e)
{
	struct fake_box *b;
	bool lose;
	int rc;

	if (fake_play(op, deadline_ms, &lose, e) < 0)
		return -1;
	pthread_mutex_lock(&FAKE.lock);
	b = fake_find_box(id, true);
	rc = record_check_end(&b->record, incarnation, b->runs, destroy, e);
	if (rc < 0)
		return fake_finish(rc, false, e);
	record_end(&b->record, incarnation, destroy);
	fake_end_box(b);
	for (size_t i = 0; destroy && i < FAKE_CELLS; i++)
		if (str_equal(FAKE.cell[i].box, id))
			FAKE.cell[i] = (struct fake_cell){ 0 };
	return fake_finish(0, lose, e);
}

static int
stop(const struct provider *p, const char *id, const char *incarnation,
    int64_t deadline_ms, struct err *e)
{
	(void)p;
	return end("stop", id, incarnation, deadline_ms, false, e);
}

static int
destroy(const struct provider *p, const char *id, const char *incarnation,
    int64_t deadline_ms, struct err *e)
{
	(void)p;
	return end("destroy", id, incarnation, deadline_ms, true, e);
}

/* A frozen cell in memory never keeps its sandbox from ending. */
static int
thaw_orphans(const struct provider *p, const char *id, struct err *e)
{
	bool lose;

	(void)p, (void)id;
	return fake_play("thaw_orphans", 0, &lose, e);
}

static int
open_channel(const struct provider *p, const char *id, const char *incarnation,
    struct err *e)
{
	const struct fake_box *b;
	bool lose, listens;

	(void)p;
	if (fake_begin("control", &lose, e) < 0)
		return -1;
	b = fake_find_box(id, false);
	listens = b != NULL && b->runs && b->record.state != RECORD_STARTING &&
	    str_equal(b->record.incarnation, incarnation);
	pthread_mutex_unlock(&FAKE.lock);
	if (!listens)
		return err_set(e, ERR_UNAVAILABLE, CODE_NOT_LISTENING,
		    "nobody listens there");
	return fake_connect(id, e);
}

static int
storage_make(const struct provider *p, const char *id, const char *session,
    struct err *e)
{
	bool lose;

	(void)p;
	if (fake_begin("storage_make", &lose, e) < 0)
		return -1;
	fake_find_box(id, true);
	fake_find_cell(id, session, true)->storage = true;
	return fake_finish(0, lose, e);
}

static int
storage_exists(const struct provider *p, const char *id, const char *session,
    bool *out, struct err *e)
{
	const struct fake_cell *c;
	bool lose;

	(void)p;
	*out = false;
	if (fake_begin("storage_exists", &lose, e) < 0)
		return -1;
	c = fake_find_cell(id, session, false);
	*out = c != NULL && c->storage;
	return fake_finish(0, lose, e);
}

static int
storage_drop(const struct provider *p, const char *id, const char *session,
    struct err *e)
{
	struct fake_cell *c;
	bool lose;

	(void)p;
	if (fake_begin("storage_drop", &lose, e) < 0)
		return -1;
	c = fake_find_cell(id, session, false);
	if (c != NULL && c->storage)
		FAKE.free_mb += FAKE.more_mb;
	if (c != NULL)
		c->storage = false;
	return fake_finish(0, lose, e);
}

static int
list_parts(const char *op, bool storage, struct session_seen **out,
    size_t *count, struct err *e)
{
	bool lose;

	*out = NULL;
	*count = 0;
	if (fake_begin(op, &lose, e) < 0)
		return -1;
	*out = xcalloc(FAKE_CELLS, sizeof(**out));
	for (size_t i = 0; i < FAKE_CELLS; i++) {
		const struct fake_cell *c = &FAKE.cell[i];

		if (c->box[0] == '\0' ||
		    !(storage ? c->storage : c->generation > 0))
			continue;
		str_copy((*out)[*count].sandbox, SANDBOX_ID_MAX, c->box);
		str_copy((*out)[(*count)++].session, ID_MAX, c->session);
	}
	return fake_finish(0, false, e);
}

static int
storage_list(const struct provider *p, struct session_seen **out, size_t *count,
    struct err *e)
{
	(void)p;
	return list_parts("storage_list", true, out, count, e);
}

static int
cell_list(const struct provider *p, struct session_seen **out, size_t *count,
    struct err *e)
{
	(void)p;
	return list_parts("cell_list", false, out, count, e);
}

static int
cell_open(const struct provider *p, const struct sandbox_spec *s,
    const char *session, int fds[PROVIDER_CELL_FDS_MAX], size_t *count,
    struct err *e)
{
	bool lose;

	(void)p, (void)s, (void)session, (void)fds;
	*count = 0;
	return fake_play("cell_open", 0, &lose, e);
}

static int
cell_gone(const struct provider *p, const char *id, const char *session,
    bool *gone, struct err *e)
{
	enum fake_how how = fake_next("cell_gone");
	const struct fake_cell *c;

	(void)p;
	*gone = false;
	if (how != FAKE_WORK && how != FAKE_LOSE && how != FAKE_LIE)
		return err_set(e, ERR_UNAVAILABLE, FAKE_CODE,
		    "the fake failed");
	pthread_mutex_lock(&FAKE.lock);
	c = fake_find_cell(id, session, false);
	*gone = (c == NULL || c->generation == 0) == (how != FAKE_LIE);
	return fake_finish(0, how == FAKE_LOSE, e);
}

static json_t *
limit(int64_t value)
{
	return json_pack("{s:I, s:s}", "value", (json_int_t)value, "by",
	    "none");
}

static json_t *
limits(const struct provider *p, const struct sandbox_spec *s)
{
	(void)p;
	return json_pack("{s:o, s:o, s:o, s:o}", "memoryMb",
	    limit(s->memory_mb), "cpuMillis", limit(s->cpu_millis), "diskMb",
	    limit(s->disk_mb), "pids", limit(s->pids));
}

static int
run_open(const struct provider *p, const struct run_spec *r,
    struct run_group *out, struct err *e)
{
	bool lose;

	(void)p, (void)r;
	*out = (struct run_group){ 0 };
	return fake_play("run_open", 0, &lose, e);
}

static int
run_remove(const struct provider *p, const struct run_spec *r,
    int64_t deadline_ms, struct err *e)
{
	bool lose;

	(void)p, (void)r;
	return fake_play("run_remove", deadline_ms, &lose, e);
}

static int
agent_log(const struct provider *p, const char *id, size_t max, struct buf *out,
    struct err *e)
{
	static const char LINE[] = "the fake has nothing to say\n";
	bool lose;

	(void)p, (void)id;
	if (fake_play("agent_log", 0, &lose, e) < 0)
		return -1;
	buf_add(out, LINE, max < strlen(LINE) ? max : strlen(LINE));
	return 0;
}

static int
sweep(const struct provider *p, int64_t deadline_ms, bool *left, struct err *e)
{
	bool lose;

	(void)p;
	*left = false;
	return fake_play("sweep", deadline_ms, &lose, e);
}

const struct provider_ops PROVIDER_FAKE = {
	.name = "fake",
	.open = open_fake,
	.check = check,
	.ready = check,
	.ensure = ensure,
	.inspect = inspect,
	.list = list,
	.stop = stop,
	.destroy = destroy,
	.thaw_orphans = thaw_orphans,
	.open_channel = open_channel,
	.storage_make = storage_make,
	.storage_from = fake_storage_from,
	.storage_exists = storage_exists,
	.storage_drop = storage_drop,
	.storage_list = storage_list,
	.workspaces = fake_workspaces,
	.capacity = fake_measure,
	.own_disk = fake_own_disk,
	.ballast = fake_ballast,
	.ballast_size = fake_ballast_size,
	.cell_freeze = fake_freeze,
	.frozen = fake_frozen,
	.cell_open = cell_open,
	.cell_gone = cell_gone,
	.cell_list = cell_list,
	.usage = fake_measure_usage,
	.run_open = run_open,
	.run_remove = run_remove,
	.limits = limits,
	.agent_log = agent_log,
	.snapshot_take = fake_snapshot_take,
	.snapshot_look = fake_snapshot_look,
	.snapshot_drop = fake_snapshot_drop,
	.snapshot_list = fake_snapshot_list,
	.sweep = sweep,
};
