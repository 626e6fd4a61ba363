/* disk.c: keeps one tenant from filling the disk for all. */
#include "control/disk.h"

#include <inttypes.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "domain/disk.h"
#include "provider/link/disk_usage.h"
#include "provider/link/link.h"

enum { ASK_MS = 4000, BETWEEN_LOOKS_US = 300 * 1000 };

/* All sessions that have a cell on this host, and their use of the disk. */
struct measured {
	struct disk_user *user;
	struct session_seen *who;      /* sandbox and session of each */
	struct agent_disk_usage *last; /* last measurement of each */
	size_t count;
	int64_t file_bytes; /* bytes an inode counts for; 0: not scarce */
};

#define auto_measured __attribute__((cleanup(measured_release)))

static void
measured_release(struct measured *c)
{
	free(c->user);
	free(c->who);
	free(c->last);
}

static int64_t
low_bytes(const struct control *ctl)
{
	return ctl->conf->disk_low_mb << 20;
}

static int64_t
ballast_bytes(const struct control *ctl)
{
	return ctl->conf->ballast_mb << 20;
}

static int
measure(const struct control *ctl, struct capacity *out, struct err *e)
{
	if (ctl->provider.ops->capacity(&ctl->provider, "", out, e) < 0)
		return err_wrap(e, "free space");
	return 0;
}

json_t *
disk_json(const struct control *ctl)
{
	struct capacity c;
	struct err e = { 0 };

	if (measure(ctl, &c, &e) < 0)
		return NULL;
	return json_pack("{s:I, s:I, s:I, s:I}", "freeMb",
	    (json_int_t)(c.free_bytes >> 20), "totalMb",
	    (json_int_t)(c.total_bytes >> 20), "freeInodes",
	    (json_int_t)c.free_files, "totalInodes", (json_int_t)c.total_files);
}

/* ---- looking */

/* A session's use of the scarce resource: bytes, or inodes counted as bytes. */
static int64_t
weight(const struct measured *c, const struct agent_disk_usage *u)
{
	if (c->file_bytes == 0)
		return u->bytes;
	return u->files < 0 ? 0 : u->files * c->file_bytes;
}

static bool
is_whole(const struct measured *c, const struct agent_disk_usage *u)
{
	return u->whole && (c->file_bytes == 0 || u->files >= 0);
}

static void
add_session(struct measured *c, const char *sandbox,
    const struct agent_disk_usage *u)
{
	size_t i = c->count;

	c->user = xrealloc(c->user, (i + 1) * sizeof(*c->user));
	c->who = xrealloc(c->who, (i + 1) * sizeof(*c->who));
	c->last = xrealloc(c->last, (i + 1) * sizeof(*c->last));
	c->user[i] = (struct disk_user){ .before = weight(c, u),
		.now = weight(c, u),
		.whole = is_whole(c, u) };
	c->last[i] = *u;
	str_copy(c->who[i].sandbox, sizeof(c->who[i].sandbox), sandbox);
	str_copy(c->who[i].session, sizeof(c->who[i].session), u->session);
	c->who[i].generation = u->generation;
	c->count++;
}

/* A sandbox reports only about its own sessions, whatever ids it claims. */
static bool
is_same_session(const struct session_seen *s, const char *sandbox,
    const char *session)
{
	return str_equal(s->session, session) && str_equal(s->sandbox, sandbox);
}

static void
update_session(struct measured *c, const char *sandbox,
    const struct agent_disk_usage *u, bool again)
{
	for (size_t i = 0; i < c->count; i++) {
		if (!is_same_session(&c->who[i], sandbox, u->session))
			continue;
		c->user[i].now = weight(c, u);
		c->user[i].whole = c->user[i].whole && is_whole(c, u);
		c->last[i] = *u;
		return;
	}
	if (!again)
		add_session(c, sandbox, u);
}

/*
 * Measures all sessions.  A sandbox that does not answer is left out, so that
 * the others are still measured.
 */
static int
measure_sessions(struct control *ctl, struct measured *c, bool again,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_free struct sandbox_seen *boxes = NULL;
	auto_free struct agent_disk_usages *all = NULL;
	size_t count, n = 0;

	if (p->ops->list(p, &boxes, &count, e) < 0)
		return -1;
	all = xcalloc(count + 1, sizeof(*all));
	for (size_t i = 0; i < count; i++)
		if (boxes[i].presence == PRESENCE_RUNNING) {
			all[n].sandbox = boxes[i].id;
			all[n++].incarnation = boxes[i].incarnation;
		}
	agent_disk_usage_all(p, ASK_MS, all, n);
	for (size_t i = 0; i < n; i++) {
		if (!all[i].answered)
			log_err(LOG_WARN, "disk_usage", &all[i].e);
		for (size_t k = 0; all[i].answered && k < all[i].count; k++)
			update_session(c, all[i].sandbox, &all[i].list[k],
			    again);
		free(all[i].list);
	}
	return 0;
}

static void
mark_frozen(struct measured *c, const struct session_seen *f, size_t count)
{
	for (size_t i = 0; i < c->count; i++)
		for (size_t k = 0; k < count; k++)
			if (is_same_session(&c->who[i], f[k].sandbox,
				f[k].session))
				c->user[i].frozen = true;
}

/*
 * Marks the sandboxes that are over their limit.  The limit is for the sandbox
 * as a whole, so the excess is put down to its largest session.  The limit is
 * the one that init reports, because the rows may be out of reach.
 */
static void
mark_over(struct measured *c)
{
	for (size_t i = 0; i < c->count; i++) {
		int64_t sum = 0, limit = c->last[i].limit_mb << 20;
		bool largest = true;

		for (size_t k = 0; k < c->count; k++) {
			if (!str_equal(c->who[k].sandbox, c->who[i].sandbox))
				continue;
			sum += c->last[k].bytes;
			/* of two equal ones, the first */
			largest = largest &&
			    c->last[k].bytes - (k < i ? 0 : 1) <
				c->last[i].bytes;
		}
		if (limit > 0 && largest && sum > limit)
			c->user[i].over = sum - limit;
	}
}

/* ---- acting */

static int
measure_twice(struct control *ctl, struct measured *c, int64_t *before,
    int64_t *after, struct err *e)
{
	struct capacity first, second;

	if (measure_sessions(ctl, c, false, e) < 0 ||
	    measure(ctl, &first, e) < 0)
		return -1;
	usleep(BETWEEN_LOOKS_US);
	if (measure(ctl, &second, e) < 0 ||
	    measure_sessions(ctl, c, true, e) < 0)
		return -1;
	*before = first.room_bytes;
	*after = second.room_bytes;
	return 0;
}

static void
log_frozen(const struct measured *c, size_t i, const struct capacity *has)
{
	const struct agent_disk_usage *u = &c->last[i];

	log_line(LOG_ERROR, "disk_low",
	    "%" PRId64 " MB and %" PRId64
	    " inodes are free: session %s, which has %" PRId64
	    " MB and %" PRId64 " inodes%s, grew by %" PRId64
	    " MB and is %" PRId64 " MB over its limit, is frozen",
	    has->free_bytes >> 20, has->free_files, c->who[i].session,
	    u->bytes >> 20, u->files, u->whole ? "" : " or more",
	    (c->user[i].now - c->user[i].before) >> 20, c->user[i].over >> 20);
}

static int
freeze_heaviest(struct control *ctl, const struct session_seen *f, size_t count,
    const struct capacity *was, struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_measured struct measured c = { 0 };
	struct capacity now;
	int64_t before, after;
	int heaviest;

	if (was->room_bytes < was->free_bytes)
		c.file_bytes = was->total_bytes / was->total_files;
	if (measure_twice(ctl, &c, &before, &after, e) < 0 ||
	    measure(ctl, &now, e) < 0)
		return -1;
	if (now.room_bytes >= low_bytes(ctl))
		return 0; /* there is room again */
	mark_frozen(&c, f, count);
	mark_over(&c);
	heaviest = disk_heaviest(c.user, c.count, before, after);
	if (heaviest < 0)
		return 0;
	log_frozen(&c, (size_t)heaviest, &now);
	if (p->ops->cell_freeze(p, &c.who[heaviest], true, e) < 0)
		return -1;
	CRASH_POINT("disk.frozen");
	return 0;
}

static int
thaw_all(struct control *ctl, const struct session_seen *f, size_t count,
    struct err *e)
{
	const struct provider *p = &ctl->provider;
	int rc = 0;

	for (size_t i = 0; i < count; i++) {
		if (p->ops->cell_freeze(p, &f[i], false, e) < 0) {
			rc = -1;
			continue;
		}
		CRASH_POINT("disk.thawed");
		log_line(LOG_INFO, "disk_room", "session %s is thawed",
		    f[i].session);
	}
	return rc;
}

/* An empty list clears the mark of every session. */
int
disk_tell(struct control *ctl, struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_free struct session_seen *f = NULL;
	auto_free char *text = NULL;
	json_t *list;
	size_t count;

	if (p->ops->frozen(p, &f, &count, e) < 0)
		return -1;
	list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list,
		    json_pack("{s:s, s:s}", "sandbox", f[i].sandbox, "session",
			f[i].session));
	text = control_spec_text(list);
	if (STORE_RUN(ctl->store, STMT_DISK_FROZEN, NULL, e,
		ctl->conf->host_name, text) < 0)
		return -1;
	CRASH_POINT("disk.told");
	return 0;
}

/* Ballast is made only if the disk has enough room with it. */
static bool
may_make_ballast(const struct control *ctl, int64_t free_bytes)
{
	const struct provider *p = &ctl->provider;
	int64_t has = p->ops->ballast_size(p);

	return has != ballast_bytes(ctl) &&
	    free_bytes + has >=
	    disk_relaxed(low_bytes(ctl)) + ballast_bytes(ctl);
}

static int
give_up_ballast(const struct control *ctl, int64_t room, struct err *e)
{
	const struct provider *p = &ctl->provider;

	if (room >= disk_critical(low_bytes(ctl)))
		return 0;
	if (p->ops->ballast(p, 0, e) < 0)
		return -1;
	CRASH_POINT("disk.yielded");
	return 0;
}

bool
disk_wants_guard(const struct control *ctl)
{
	const struct provider *p = &ctl->provider;
	auto_free struct session_seen *f = NULL;
	struct capacity has;
	struct err e = { 0 };
	size_t count;

	if (low_bytes(ctl) == 0 || measure(ctl, &has, &e) < 0)
		return false;
	if (has.room_bytes < low_bytes(ctl) ||
	    may_make_ballast(ctl, has.room_bytes))
		return true;
	return has.room_bytes >= disk_relaxed(low_bytes(ctl)) &&
	    p->ops->frozen(p, &f, &count, &e) == 0 && count > 0;
}

int
disk_guard(struct control *ctl, struct err *e)
{
	const struct provider *p = &ctl->provider;
	auto_free struct session_seen *f = NULL;
	int64_t low = low_bytes(ctl), room;
	struct capacity has;
	struct err second = { 0 };
	size_t count;
	int rc = 0;

	if (low == 0)
		return 0;
	if (measure(ctl, &has, e) < 0)
		return -1;
	room = has.room_bytes;
	if (room == has.free_bytes && give_up_ballast(ctl, room, e) < 0)
		return -1;
	if (p->ops->frozen(p, &f, &count, e) < 0)
		return -1;
	if (room < low)
		rc = freeze_heaviest(ctl, f, count, &has, e);
	else if (room >= disk_relaxed(low))
		rc = thaw_all(ctl, f, count, e);
	/*
	 * Where inodes are scarce, freeze first: a loop that makes files would
	 * use up the inodes that the ballast frees.
	 */
	if (rc == 0 && room < has.free_bytes)
		rc = give_up_ballast(ctl, room, e);
	if (rc == 0 && may_make_ballast(ctl, room)) {
		rc = p->ops->ballast(p, ballast_bytes(ctl), e);
		CRASH_POINT("disk.ballast");
	}
	/* rows of thawed sessions are written even if another thaw failed */
	if ((room < low || count > 0) &&
	    disk_tell(ctl, rc < 0 ? &second : e) < 0)
		rc = -1;
	return rc;
}
