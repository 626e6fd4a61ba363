/* warm.c: keeps the warm pool. */
#include "control/warm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/digest.h"
#include "common/fault.h"
#include "common/id.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/inventory.h"
#include "control/launch.h"
#include "provider/link/link.h"

enum {
	FILL_SECONDS = 60, /* then a member that is not ready is retired */
	FILL_MS = 20000,
	MEMORY_SHARE = 50, /* members may use one part in so many */
	MEMBER_KB = 2048,  /* taken to be used by one */
	LEAST = 4,
	MOST = 256,
	CLASS_NAME_MAX = 257, /* 64 characters */
	CLASSES_KNOWN = 8,
	ROOTFS_MS = 5000
};

/* As many as fit a share of the memory. */
static int64_t
most_by_memory(void)
{
	int64_t pages = sysconf(_SC_PHYS_PAGES);
	int64_t kb = pages * (sysconf(_SC_PAGESIZE) / 1024);
	int64_t most = kb / MEMORY_SHARE / MEMBER_KB;

	if (most < LEAST)
		return LEAST;
	return most < MOST ? most : MOST;
}

void
warm_classes_read(const struct conf *conf, struct warm_classes *out)
{
	char *save = NULL;

	*out = (struct warm_classes){ .most = conf->warm_sandboxes };
	str_copy(out->text, sizeof(out->text), conf->warm_classes);
	for (char *p = strtok_r(out->text, ", ", &save);
	     p != NULL && out->count < ARRAY_LEN(out->name);
	     p = strtok_r(NULL, ", ", &save))
		out->name[out->count++] = p;
	if (out->most == CONF_AUTO)
		out->most = most_by_memory();
	if (out->count > 0)
		out->most =
		    (out->most + (int64_t)out->count - 1) / (int64_t)out->count;
}

/*
 * The path of a class's root file system.  A create must not wait for a query
 * each time: a class that was changed is noticed after ROOTFS_MS, and until
 * then no member fits, because its row counts, too.
 */
static const char *
rootfs_of(struct control *ctl, const char *class_name)
{
	static struct {
		char name[CLASS_NAME_MAX], path[SANDBOX_ROOTFS_MAX];
		int64_t until_ms;
	} known[CLASSES_KNOWN], *k;
	static size_t next;
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	for (size_t i = 0; i < CLASSES_KNOWN; i++)
		if (str_equal(known[i].name, class_name) &&
		    clock_ms() < known[i].until_ms)
			return known[i].path;
	k = &known[next++ % CLASSES_KNOWN];
	k->name[0] = k->path[0] = '\0';
	if (STORE_RUN(ctl->store, STMT_CLASS_ROOTFS, &r, &e, class_name) < 0)
		log_err(LOG_WARN, "class_rootfs", &e);
	else if (rows_count(r) == 1 &&
	    str_copy(k->path, sizeof(k->path), rows_text(r, 0, "rootfs")) &&
	    str_copy(k->name, sizeof(k->name), class_name))
		k->until_ms = clock_ms() + ROOTFS_MS;
	return k->path;
}

/* Another file in the place of this one has another text. */
static void
add_identity(const char *path, struct buf *to)
{
	struct stat st = { 0 };

	(void)!stat(path, &st);
	buf_fmt(to, " %ju %ju %jd.%ld %jd.%ld", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino, (intmax_t)st.st_mtim.tv_sec,
	    st.st_mtim.tv_nsec, (intmax_t)st.st_ctim.tv_sec,
	    st.st_ctim.tv_nsec);
}

static void
add_identity_beside(const char *path, const char *name, struct buf *to)
{
	auto_free char *beside = str_beside(path, name);

	add_identity(beside, to);
}

void
warm_shape(struct control *ctl, const char *class_name,
    char out[WARM_SHAPE_MAX])
{
	const struct conf *c = ctl->conf;
	const char *rootfs = rootfs_of(ctl, class_name);
	auto_buf struct buf text = { 0 };

	buf_fmt(&text,
	    "%s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 " %s %s",
	    PACKAGE_VERSION, c->log_level, c->log_format, c->agent_log_kb,
	    c->launcher, c->bwrap_path, c->cgroup_root);
	/* each may have been replaced, with the same version */
	add_identity(c->agent_path, &text);
	add_identity(c->bwrap_path, &text);
	add_identity_beside(c->agent_path, "sandlease-launch", &text);
	add_identity_beside(c->agent_path, "sandlease-ws", &text);
	if (!str_empty(rootfs))
		add_identity(rootfs, &text);
	token_hash(text.data, out);
}

static char *
fill_spec(struct control *ctl, const char *class_name, int64_t most)
{
	char id[ID_MAX], instance[ID_MAX], incarnation[ID_MAX];
	char sandbox[SANDBOX_ID_MAX], shape[WARM_SHAPE_MAX];
	const struct sandbox_owner o = { .org = "",
		.user = "",
		.bot = "",
		.salt = "",
		.session = id };

	id_random(id, ID_SESSION_LEN);
	id_random(instance, ID_INSTANCE_LEN);
	id_random(incarnation, ID_INCARNATION_LEN);
	sandbox_id_derive(&o, true, sandbox);
	warm_shape(ctl, class_name, shape);
	ctl->intent_ms = clock_ms();
	return control_spec_text(
	    json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:I, s:I}",
		"id", id, "sandbox", sandbox, "instance", instance,
		"incarnation", incarnation, "host", ctl->conf->host_name,
		"boot", ctl->provider.boot_id, "class", class_name, "shape",
		shape, "seconds", (json_int_t)FILL_SECONDS, "most",
		(json_int_t)most));
}

/* Acts on the intent, and proves the member. */
static int
start_member(struct control *ctl, const struct rows *plan, struct launch *l,
    struct err *e)
{
	int64_t deadline_ms = clock_ms() + FILL_MS;

	if (launch_read(ctl, plan, l, e) < 0)
		return -1;
	l->agent.commits_as = NULL; /* comes with the adoption */
	if (launch_bring_up(ctl, plan, l, deadline_ms, e) < 0 ||
	    agent_prove(&ctl->provider, &l->target, deadline_ms, e) < 0)
		return -1;
	CRASH_POINT("warm.proved");
	return 0;
}

int
warm_fill(struct control *ctl, const char *class_name, int64_t most, bool *made,
    struct err *e)
{
	auto_free char *spec = fill_spec(ctl, class_name, most);
	auto_rows struct rows *plan = NULL, *r = NULL;
	auto_launch struct launch l = { 0 };
	struct err ignored = { 0 };

	*made = false;
	if (STORE_RUN(ctl->store, STMT_WARM_BEGIN, &plan, e, spec) < 0)
		return -1;
	if (rows_count(plan) == 0)
		return 0;
	CRASH_POINT("warm.intent");
	if (start_member(ctl, plan, &l, e) == 0 &&
	    STORE_RUN(ctl->store, STMT_WARM_MADE, &r, e,
		rows_text(plan, 0, "session_id"), l.version) == 0) {
		CRASH_POINT("warm.made");
		*made = rows_bool(r, 0, "applied");
		if (*made)
			return 0;
		err_set(e, ERR_BUSY, CODE_LEASE_CHANGED,
		    "it took too long, and was retired");
	}
	if (warm_end(ctl, rows_text(plan, 0, "session_id"),
		rows_text(plan, 0, "sandbox_id"),
		rows_text(plan, 0, "incarnation"), &ignored) < 0)
		log_err(LOG_WARN, "warm_end", &ignored);
	return err_wrap(e, "a sandbox of class %s for the warm pool",
	    class_name);
}

int
warm_end(struct control *ctl, const char *session, const char *sandbox,
    const char *incarnation, struct err *e)
{
	auto_rows struct rows *r = NULL;
	char seconds[24];

	snprintf(seconds, sizeof(seconds), "%d", FILL_SECONDS);
	if (STORE_RUN(ctl->store, STMT_WARM_RETIRE, &r, e, session, seconds) <
	    0)
		return -1;
	if (!rows_bool(r, 0, "applied"))
		return 0;
	CRASH_POINT("warm.retiring");
	if (inventory_destroy_sandbox(ctl, sandbox, incarnation, e) < 0)
		return -1;
	agent_unlink_sockets(ctl->conf, session, 1);
	CRASH_POINT("warm.destroyed");
	return STORE_RUN(ctl->store, STMT_WARM_ENDED, NULL, e, session);
}
