/*
 * freeze.c: freezes a session's cell when the disk is full, and thaws it.
 *
 * A note for each frozen session is in run_dir, not in state_dir, because
 * state_dir may be full.  A reboot ends both the notes and the processes.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/link/disk_usage.h"
#include "provider/link/link.h"
#include "provider/local/local.h"

enum { ASK_MS = 2000, NOTE_MAX = SANDBOX_ID_MAX + 24 };

static int
open_notes(const struct provider *p, struct err *e)
{
	auto_free char *path = xasprintf("%s/f", p->conf->run_dir);

	return file_dir(AT_FDCWD, path, 0700, e);
}

/* Without a freezer init stops the cell's processes by SIGSTOP. */
static int
ask_init(const struct provider *p, const struct box *b,
    const struct session_seen *s, bool on, struct err *e)
{
	/* generation not known: the cell is gone, or is not the frozen one */
	struct agent_target t = { .generation =
				      s->generation > 0 ? s->generation : 1 };
	struct record r;
	bool runs;

	if (box_record(b, &r, e) < 0 || local_may_run(p, b, &runs, e) < 0)
		return -1;
	if (!runs || r.state == RECORD_NONE)
		return 0; /* no process to freeze or to thaw */
	str_copy(t.sandbox, sizeof(t.sandbox), s->sandbox);
	str_copy(t.incarnation, sizeof(t.incarnation), r.incarnation);
	str_copy(t.session, sizeof(t.session), s->session);
	if (agent_freeze_by_signal(p, &t, on, clock_ms() + ASK_MS, e) == 0)
		return 0;
	/* the cell that was frozen is gone */
	return !on &&
		(e->code == CODE_WRAPPER_UNAVAILABLE ||
		    e->code == CODE_STALE_GENERATION)
	    ? 0
	    : -1;
}

static int
set_frozen(const struct provider *p, const struct session_seen *s, bool on,
    struct err *e)
{
	auto_box struct box b = BOX_CLOSED;
	struct cgroup_tree t;
	bool done;

	if (box_open(p, s->sandbox, &b, e) < 0)
		return -1;
	if (b.dir < 0)
		return 0;
	if (box_cgroups(p, &b, &t, e) < 0 ||
	    cgroup_cell_freeze(&t, b.name, s->session, on, &done, e) < 0)
		return -1;
	return done ? 0 : ask_init(p, &b, s, on, e);
}

/* Writes the note of a frozen session: "SANDBOX GENERATION". */
static int
write_note(int notes, const struct session_seen *s, struct err *e)
{
	auto_free char *text =
	    xasprintf("%s %" PRId64, s->sandbox, s->generation);

	return file_write(notes, s->session, text, e);
}

static bool
read_note(char *text, struct session_seen *out)
{
	char *space = strchr(text, ' ');

	if (space != NULL) {
		*space = '\0';
		out->generation = strtoll(space + 1, NULL, 10);
	}
	return text[0] != '\0' &&
	    str_copy(out->sandbox, sizeof(out->sandbox), text);
}

int
local_freeze(const struct provider *p, const struct session_seen *s, bool on,
    struct err *e)
{
	const char *session = s->session;
	auto_fd int notes = -1;
	struct err ignored; /* then the note stays, and a later call thaws */

	if (!id_is_session(session))
		return err_set(e, ERR_INTERNAL, CODE_BAD_SESSION_ID,
		    "\"%.32s\" is not a session id", session);
	if (!on) {
		auto_free char *note =
		    xasprintf("%s/f/%s", p->conf->run_dir, session);

		if (access(note, F_OK) < 0)
			return errno == ENOENT ? 0 : err_errno(e, "%s", note);
		if (set_frozen(p, s, false, e) < 0)
			return -1;
		unlink(note);
		return 0;
	}
	notes = open_notes(p, e);
	/* the note first: a frozen cell without a note would never thaw */
	if (notes < 0 || write_note(notes, s, e) < 0)
		return -1;
	if (set_frozen(p, s, true, e) == 0)
		return 0;
	/* init may have frozen the cell without an answer: thaw it at once */
	if (set_frozen(p, s, false, &ignored) == 0)
		unlinkat(notes, session, 0);
	return -1;
}

void
local_forget_frozen(const struct provider *p, const char *session)
{
	auto_free char *note = xasprintf("%s/f/%s", p->conf->run_dir, session);

	unlink(note);
}

int
local_frozen(const struct provider *p, struct session_seen **out, size_t *count,
    struct err *e)
{
	auto_fd int notes = open_notes(p, e);
	auto_names char **names = NULL;
	size_t n = 0;

	*out = NULL;
	*count = 0;
	if (notes < 0 || file_names(notes, ".", &names, e) < 0)
		return -1;
	while (names[n] != NULL)
		n++;
	*out = xcalloc(n + 1, sizeof(**out));
	for (size_t i = 0; i < n; i++) {
		auto_buf struct buf note = { 0 };
		struct session_seen *f = &(*out)[*count];
		bool found;

		if (!id_is_session(names[i]))
			continue;
		if (file_read(notes, names[i], NOTE_MAX, &found, &note, e) < 0)
			return -1;
		str_copy(f->session, sizeof(f->session), names[i]);
		if (found && note.len > 0 && read_note(note.data, f))
			++*count;
	}
	return 0;
}
