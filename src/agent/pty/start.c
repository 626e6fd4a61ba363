/* start.c: opens a terminal. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "agent/pty/internal.h"
#include "agent/shell/envset.h"
#include "agent/shell/path_list.h"
#include "agent/shell/proc.h"
#include "agent/shell/script.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/quote.h"

/* ---- shell, working directory and environment */

/* Resolves a name by the session's PATH; takes an absolute path as it is. */
static int
find_shell(const char *shell, char out[SHELL_PATH_MAX], struct err *e)
{
	int64_t seq;
	auto_free char **envp = envset_envp(&seq);

	if (strlen(shell) < PTY_SHELL_MAX &&
	    path_list_find(envset_find(envp, "PATH"), shell, out,
		SHELL_PATH_MAX))
		return 0;
	return err_field(e, "shell",
	    "must be the name or the absolute path of an installed program");
}

/* How the terminal's program is started. */
struct pty_launch {
	char cwd[SHELL_PATH_MAX];
	bool cwd_must;
	struct buf script;
};

static int
resolve_cwd(const struct pty_options *w, char cwd[SHELL_PATH_MAX],
    struct err *e)
{
	size_t had;
	int n;

	shell_cwd(w->id, cwd);
	had = strlen(cwd);
	if (w->cwd[0] == '/')
		n = snprintf(cwd, SHELL_PATH_MAX, "%s", w->cwd);
	else if (w->cwd[0] != '\0')
		n = (int)had +
		    snprintf(cwd + had, SHELL_PATH_MAX - had, "/%s", w->cwd);
	else
		return 0;
	return n < SHELL_PATH_MAX ? 0 : err_field(e, "cwd", "is too long");
}

/*
 * Makes a script for bash that restores the exports of the shell session and
 * then replaces itself by the terminal's program.
 */
static int
prepare_launch(const struct pty_options *w, const char *shell,
    struct pty_launch *b, struct err *e)
{
	auto_buf struct buf exports = { 0 };
	char path[SHELL_PATH_MAX];

	if (find_shell(shell, path, e) < 0 || resolve_cwd(w, b->cwd, e) < 0)
		return -1;
	b->cwd_must = w->cwd[0] != '\0';
	shell_exports(w->id, &exports);
	script_restore(&b->script, exports.data, "");
	script_export(&b->script, "TERM", "xterm-256color");
	buf_str(&b->script, "\\builtin exec -- ");
	quote_always(&b->script, path);
	buf_str(&b->script, " 3<&-\n");
	return 0;
}

/* ---- creation */

static struct pty *
new_pty(const struct pty_options *w, const char *shell)
{
	struct pty *t = pty_new(w->id);

	t->cols = w->cols > 0 ? w->cols : PTY_COLS;
	t->rows = w->rows > 0 ? w->rows : PTY_ROWS;
	t->typed_ms = clock_ms();
	str_copy(t->shell, sizeof(t->shell), shell);
	pty_prepare(t);
	return t;
}

static int
open_ends(struct pty *t, struct err *e)
{
	const struct winsize size = { .ws_col = (unsigned short)t->cols,
		.ws_row = (unsigned short)t->rows };
	int locked = 0;

	t->master =
	    open("/dev/ptmx", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
	if (t->master < 0 || ioctl(t->master, TIOCSPTLCK, &locked) < 0)
		return err_errno(e, "cannot open a terminal");
	t->slave = ioctl(t->master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (t->slave < 0 || ioctl(t->master, TIOCSWINSZ, &size) < 0)
		return err_errno(e, "cannot open a terminal");
	return 0;
}

static int
spawn_program(struct pty *t, const struct pty_launch *b, struct err *e)
{
	if (open_ends(t, e) < 0)
		return -1;
	errno = 0;
	if (shell_proc_terminal(&b->script, b->cwd, b->cwd_must, t->slave,
		&t->entry.child, e) == 0) {
		t->pid = t->entry.child.pid;
		return 0;
	}
	if (errno == EAGAIN && e->kind != ERR_INVALID)
		return err_set(e, ERR_LIMITED, CODE_TOO_MANY_PROCESSES,
		    "the session has no room for another process");
	return -1;
}

/* With the lock held, so that two callers cannot both create the name. */
static int
start_locked(struct pty *t, const struct pty_launch *b, struct err *e)
{
	if (pty_admit(t, e) < 0 || spawn_program(t, b, e) < 0)
		return -1;
	t->out.fd = t->master;
	child_enter(&t->entry);
	return 0;
}

static int
create_terminal(const struct pty_options *w, struct pty **out, bool *created,
    struct err *e)
{
	const char *shell = str_empty(w->shell) ? "bash" : w->shell;
	struct pty_launch b = { .cwd = "" };
	auto_pty struct pty *t = new_pty(w, shell);
	int rc = prepare_launch(w, shell, &b, e);

	if (rc == 0) {
		child_lock(&pty_table);
		*out = pty_living_of(w->id); /* another caller was faster */
		*created = *out == NULL;
		if (*created)
			rc = start_locked(t, &b, e);
		child_unlock(&pty_table);
	}
	buf_free(&b.script);
	if (rc < 0 || !*created)
		return rc;
	if (child_attach(&t->entry, e) < 0)
		return -1;
	*out = TAKE(t);
	return 0;
}

/* The id must be one segment of the terminal's path. */
static int
check_id(const char *id, struct err *e)
{
	if (id[0] == '\0' || strlen(id) >= SHELL_NAME_MAX)
		return err_field(e, "sessionId", "must have 1 to %d bytes",
		    SHELL_NAME_MAX - 1);
	if (strchr(id, '/') != NULL || str_equal(id, ".") ||
	    str_equal(id, ".."))
		return err_field(e, "sessionId",
		    "must not be '.' or '..' or contain '/': it is part of the terminal's path");
	return 0;
}

static int
check_side(int side, const char *field, struct err *e)
{
	if (side < 0 || side > PTY_SIDE_MAX)
		return err_field(e, field, "must be 1 to %d", PTY_SIDE_MAX);
	return 0;
}

static int
resize_if_asked(const struct pty_options *w, struct pty *t, struct err *e)
{
	struct pty_now now = pty_now(t);

	if (w->cols == 0 && w->rows == 0)
		return 0;
	return pty_resize(t, w->cols > 0 ? w->cols : now.cols,
	    w->rows > 0 ? w->rows : now.rows, e);
}

int
pty_open(const struct pty_options *w, struct pty **out, bool *created,
    struct err *e)
{
	auto_pty struct pty *t = NULL;

	if (check_id(w->id, e) < 0 || check_side(w->cols, "cols", e) < 0 ||
	    check_side(w->rows, "rows", e) < 0)
		return -1;
	*created = false;
	child_lock(&pty_table);
	t = pty_living_of(w->id);
	child_unlock(&pty_table);
	if (t == NULL && create_terminal(w, &t, created, e) < 0)
		return -1;
	if (!*created && resize_if_asked(w, t, e) < 0)
		return -1;
	*out = TAKE(t);
	return 0;
}
