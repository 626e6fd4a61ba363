/* box.c: reads, writes and locks the host's record of one sandbox. */
#include "provider/box/box.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"

enum { RECORD_FILE_MAX = 16 * 1024 };

bool
box_is_name(const char *s)
{
	static const char *const PREFIXES[] = { "ses-", "org-", "usr-", "bot-",
		"ubt-", "leg-" };

	for (size_t i = 0; i < ARRAY_LEN(PREFIXES); i++)
		if (str_starts(s, PREFIXES[i]))
			return str_made_of(s + 4, "0123456789abcdef",
			    SANDBOX_ID_LEN - 4, SANDBOX_ID_LEN - 4);
	return false;
}

void
box_name(const char *id, char out[BOX_NAME_MAX])
{
	struct sandbox_owner raw = { .session = id };
	char hashed[SANDBOX_ID_MAX];

	if (box_is_name(id)) {
		snprintf(out, BOX_NAME_MAX, "%.*s", SANDBOX_ID_LEN, id);
		return;
	}
	/* a derived id never has the prefix "leg-", so names cannot collide */
	sandbox_id_derive(&raw, true, hashed);
	snprintf(out, BOX_NAME_MAX, "leg-%.*s", SANDBOX_ID_LEN - 4, hashed + 4);
}

static char *
box_path(const struct provider *p, const char *name)
{
	return xasprintf("%s/box/%s", p->conf->state_dir, name);
}

int
box_open(const struct provider *p, const char *id, struct box *b, struct err *e)
{
	auto_free char *path = NULL;
	bool found;

	box_name(id, b->name);
	path = box_path(p, b->name);
	b->dir = file_opendir(AT_FDCWD, path, &found, e);
	return b->dir < 0 && found ? -1 : 0;
}

static int
write_label(const struct provider *p, const struct box *b, const char *id,
    struct err *e)
{
	auto_json json_t *v = json_pack("{s:s, s:s}", "installation",
	    p->installation, "sandbox", id);
	auto_free char *text = NULL;

	if (v == NULL)
		return err_set(e, ERR_INTERNAL, CODE_BAD_SANDBOX_ID,
		    "the sandbox's id is not valid UTF-8");
	text = json_text(v);
	return file_note(b->dir, "label", text, e);
}

int
box_make(const struct provider *p, const char *id, struct box *b, struct err *e)
{
	char raw[SANDBOX_ID_MAX];
	auto_free char *path = NULL;
	bool ours;

	box_name(id, b->name);
	path = box_path(p, b->name);
	b->dir = file_dir(AT_FDCWD, path, 0700, e);
	if (b->dir < 0 || box_label(p, b, &ours, raw, e) < 0)
		return -1;
	if (!ours)
		return err_set(e, ERR_CONFLICT, CODE_NOT_OURS,
		    "sandbox %.64s belongs to another installation", id);
	return raw[0] != '\0' ? 0 : write_label(p, b, id, e);
}

void
box_close(struct box *b)
{
	mem_close_fd(&b->dir); /* also drops the lock of box_lock() */
}

struct label {
	char installation[INSTALLATION_MAX];
	char sandbox[SANDBOX_ID_MAX];
};

/* clang-format off */
static const struct jfield LABEL[] = {
	JFIELD("installation", struct label, installation, J_STR, J_REQUIRED, 0, INSTALLATION_MAX - 1, "its owner"),
	JFIELD("sandbox", struct label, sandbox, J_STR, J_REQUIRED, 1, SANDBOX_ID_MAX - 1, "the raw id"),
};
/* clang-format on */

/*
 * Reads the JSON of one file of the box; NULL when the file is missing or
 * empty.  A power failure may leave an empty file, but then no sandbox runs
 * either.
 */
static int
read_json(const struct box *b, const char *name, json_t **out, struct err *e)
{
	auto_buf struct buf text = { 0 };

	*out = NULL;
	if (file_last_note(b->dir, name, RECORD_FILE_MAX, &text, e) < 0)
		return -1;
	if (text.len == 0)
		return 0;
	if (json_parse(text.data, text.len, out, e) < 0)
		return err_wrap(e, "box/%s/%s", b->name, name);
	return 0;
}

int
box_label(const struct provider *p, const struct box *b, bool *ours,
    char id[SANDBOX_ID_MAX], struct err *e)
{
	auto_json json_t *v = NULL;
	struct label l = { 0 };

	id[0] = '\0';
	*ours = true;
	if (read_json(b, "label", &v, e) < 0)
		return -1;
	if (v == NULL)
		return 0;
	if (jfield_decode(v, LABEL, ARRAY_LEN(LABEL), J_LENIENT, &l, e) < 0)
		return err_wrap(e, "box/%s/label", b->name);
	*ours = str_equal(l.installation, p->installation);
	memcpy(id, l.sandbox, sizeof(l.sandbox));
	return 0;
}

static int
lock_until(int fd, int64_t deadline_ms, const struct box *b, struct err *e)
{
	while (flock(fd, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return err_errno(e, "flock");
		if (clock_left_ms(deadline_ms) == 0)
			return err_set(e, ERR_BUSY, CODE_SANDBOX_BUSY,
			    "sandbox %s is being started or stopped", b->name);
		proc_nap(deadline_ms);
	}
	return 0;
}

int
box_lock(const struct provider *p, const char *id, int64_t deadline_ms,
    struct box *b, struct err *e)
{
	for (;;) {
		struct stat st;

		if (box_make(p, id, b, e) < 0)
			return -1;
		if (lock_until(b->dir, deadline_ms, b, e) < 0)
			return -1;
		/* box_bury() removed the directory meanwhile: make another */
		if (fstat(b->dir, &st) == 0 && st.st_nlink > 0)
			return 0;
		box_close(b);
	}
}

int
box_hold(const struct box *b, int64_t deadline_ms, struct err *e)
{
	auto_fd int fd = openat(b->dir, "lock",
	    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd < 0)
		return err_errno(e, "box/%s/lock", b->name);
	if (lock_until(fd, deadline_ms, b, e) < 0)
		return -1;
	return take_fd(&fd);
}

int
box_held(const struct box *b, bool *held, struct err *e)
{
	auto_fd int fd =
	    openat(b->dir, "lock", O_RDWR | O_CLOEXEC | O_NOFOLLOW);

	*held = false;
	if (fd < 0)
		return errno == ENOENT ? 0
				       : err_errno(e, "box/%s/lock", b->name);
	/* a shared lock: two callers of box_held() must not see each other */
	if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK)
			return err_errno(e, "flock");
		*held = true;
	}
	return 0;
}

int
box_record(const struct box *b, struct record *out, struct err *e)
{
	auto_buf struct buf text = { 0 };

	*out = (struct record){ 0 };
	if (b->dir < 0)
		return 0;
	if (file_last_note(b->dir, "incarnation", RECORD_FILE_MAX, &text, e) <
	    0)
		return -1;
	if (text.len == 0)
		return 0;
	if (record_parse(text.data, text.len, out, e) < 0)
		return err_wrap(e, "box/%s/incarnation", b->name);
	return 0;
}

int
box_set_record(const struct box *b, const struct record *r, struct err *e)
{
	auto_free char *text = record_text(r);

	return file_note(b->dir, "incarnation", text, e);
}

/* clang-format off */
static const struct jfield PROC[] = {
	JFIELD("bootId", struct box_proc, boot_id, J_STR, J_REQUIRED, 1, BOOT_ID_MAX - 1, "which boot"),
	JFIELD("bwrap", struct box_proc, bwrap.pid, J_INT, J_REQUIRED, 0, INT32_MAX, "pid"),
	JFIELD("bwrapStart", struct box_proc, bwrap.start, J_INT, J_REQUIRED, 0, INT64_MAX, "start time"),
	JFIELD("init", struct box_proc, init.pid, J_INT, J_REQUIRED, 0, INT32_MAX, "pid"),
	JFIELD("initStart", struct box_proc, init.start, J_INT, J_REQUIRED, 0, INT64_MAX, "start time"),
};
/* clang-format on */

int
box_proc(const struct box *b, struct box_proc *out, struct err *e)
{
	auto_json json_t *v = NULL;

	*out = (struct box_proc){ 0 };
	if (b->dir < 0)
		return 0;
	if (read_json(b, "proc", &v, e) < 0)
		return -1;
	if (v == NULL)
		return 0;
	if (jfield_decode(v, PROC, ARRAY_LEN(PROC), 0, out, e) < 0)
		return err_wrap(e, "box/%s/proc", b->name);
	return 0;
}

int
box_set_proc(const struct box *b, const struct box_proc *pr, struct err *e)
{
	auto_json json_t *v = json_pack("{s:s, s:I, s:I, s:I, s:I}", "bootId",
	    pr->boot_id, "bwrap", (json_int_t)pr->bwrap.pid, "bwrapStart",
	    (json_int_t)pr->bwrap.start, "init", (json_int_t)pr->init.pid,
	    "initStart", (json_int_t)pr->init.start);
	auto_free char *text = json_text(v);

	return file_note(b->dir, "proc", text, e);
}

int
box_cgroups(const struct provider *p, const struct box *b,
    struct cgroup_tree *out, struct err *e)
{
	auto_buf struct buf text = { 0 };

	if (b->dir >= 0 &&
	    file_last_note(b->dir, "cgroup", RECORD_FILE_MAX, &text, e) < 0)
		return -1;
	if (text.len == 0)
		return cgroup_find(p->conf->cgroup_root, out, e);
	if (cgroup_parse(text.data, text.len, out, e) < 0)
		return err_wrap(e, "box/%s/cgroup", b->name);
	return 0;
}

int
box_set_cgroups(const struct box *b, const struct cgroup_tree *t, struct err *e)
{
	auto_free char *text = cgroup_text(t);

	return file_note(b->dir, "cgroup", text, e);
}

void
box_forget(const struct box *b)
{
	static const char *const GONE[] = { "proc", "cgroup", "agent.log",
		"agent.log.1" };

	for (size_t i = 0; i < ARRAY_LEN(GONE); i++)
		unlinkat(b->dir, GONE[i], 0);
}

static int
is_old_tombstone(const struct box *b, bool *out, struct err *e)
{
	struct record r;
	struct stat st;

	*out = false;
	if (b->dir < 0)
		return 0;
	if (box_record(b, &r, e) < 0)
		return -1;
	*out = r.state == RECORD_DESTROYED &&
	    fstatat(b->dir, "incarnation", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_mtime + BOX_TOMBSTONE_SECONDS <= time(NULL);
	return 0;
}

int
box_bury(const struct provider *p, const char *name, struct err *e)
{
	auto_box struct box seen = BOX_CLOSED, b = BOX_CLOSED;
	auto_free char *path = box_path(p, name);
	auto_names char **names = NULL;
	bool old;

	if (box_open(p, name, &seen, e) < 0 ||
	    is_old_tombstone(&seen, &old, e) < 0)
		return -1;
	if (!old)
		return 0;
	/* a second look, under the lock; a busy box is left for later */
	if (box_lock(p, name, 0, &b, e) < 0 ||
	    is_old_tombstone(&b, &old, e) < 0)
		return -1;
	if (!old)
		return 0;
	if (file_names(b.dir, ".", &names, e) < 0)
		return -1;
	/* the record last: after a crash the next box_bury() goes on by it */
	for (char **n = names; *n != NULL; n++)
		if (!str_equal(*n, "incarnation") && unlinkat(b.dir, *n, 0) < 0)
			return err_errno(e, "box/%s/%s", name, *n);
	unlinkat(b.dir, "incarnation", 0);
	if (rmdir(path) < 0)
		return err_errno(e, "rmdir %s", path);
	return 0;
}
