/* state.c: makes a persistent shell print its state or exports. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/lock.h"
#include "agent/shell/envset.h"
#include "agent/shell/internal.h"
#include "agent/shell/script.h"
#include "common/id.h"

enum { STATE_MAX = 4 * 1024 * 1024 };

/*
 * Reads the state between two lines with a random token.  The tenant cannot
 * guess the token, so no value of a variable can look like the end.
 */
struct state_reader {
	struct shell *shell; /* parses the answers before the first line */
	struct buf text;
	char begin[ID_REQUEST_LEN + 4], end[ID_REQUEST_LEN + 3];
	bool begun, overflow;
};

static void
drop_front(struct buf *b, size_t n)
{
	memmove(b->data, b->data + n, b->len - n);
	b->len -= n;
	b->data[b->len] = '\0';
}

static void
find_begin(struct state_reader *r)
{
	size_t len = strlen(r->begin), front;
	const char *at = memmem(r->text.data, r->text.len, r->begin, len);

	if (at != NULL)
		front = (size_t)(at - r->text.data);
	else
		front = r->text.len >= len ? r->text.len - (len - 1) : 0;
	shell_read_answers(r->shell, r->text.data, front);
	r->begun = at != NULL;
	drop_front(&r->text, front + (r->begun ? len : 0));
}

static bool
read_state(void *ctx, const char *data, size_t len)
{
	struct state_reader *r = ctx;
	size_t want = strlen(r->end);

	buf_add(&r->text, data, len);
	if (!r->begun)
		find_begin(r);
	if (r->text.len > STATE_MAX) {
		/* too long: from here on only find the end */
		r->overflow = true;
		drop_front(&r->text, r->text.len - want);
	}
	return r->begun && r->text.len >= want &&
	    strcmp(r->text.data + r->text.len - want, r->end) == 0;
}

static int
request_state(struct shell *s, struct state_reader *r, struct buf *out,
    struct err *e)
{
	auto_buf struct buf script = { 0 };
	char token[ID_REQUEST_LEN + 1];
	enum pump_end how;

	s->env_seq = envset_script(s->env_seq, &script);
	id_random(token, ID_REQUEST_LEN);
	snprintf(r->begin, sizeof(r->begin), "b %s\n", token);
	snprintf(r->end, sizeof(r->end), "\n%s\n", token);
	script_dump(&script, token);
	how = shell_send_script(s, &script, read_state, r);
	if (how == PUMP_TOLD && r->overflow)
		return err_set(e, ERR_INTERNAL, CODE_COMMAND_EXECUTION_ERROR,
		    "the shell's state has more than %d bytes", STATE_MAX);
	if (how == PUMP_TOLD) {
		buf_add(out, r->text.data, r->text.len - strlen(r->end));
		return 0;
	}
	kill(s->proc.child.pid, SIGKILL);
	return shell_report_end(s, e);
}

int
shell_state(struct shell *s, struct buf *out, struct err *e)
{
	struct state_reader r = { .shell = s };
	int rc;

	if (s->proc.child.pid <= 0 && s->env == NULL && s->cwd == NULL)
		return 0;
	if (shell_revive(s, e) < 0)
		return -1;
	rc = request_state(s, &r, out, e);
	buf_free(&r.text);
	return rc;
}

/* Appends the exports known without bash: it is busy, or does not run. */
static void
append_known_exports(struct shell *s, struct buf *out)
{
	const char *name;
	json_t *v;

	json_object_foreach(s->env, name, v)
	{
		script_export(out, name, json_string_value(v));
	}
	lock_take(&s->exports_lock);
	buf_add(out, s->answers.exports.data, s->answers.exports.len);
	lock_drop(&s->exports_lock);
}

void
shell_exports(const char *name, struct buf *out)
{
	bool held;
	struct shell *s = shell_try_hold(name, &held);
	struct err ignored;

	if (s == NULL)
		return;
	/* the next command shall report a dead shell, not this function */
	if (!held || !shell_lives(s) || shell_state(s, out, &ignored) < 0)
		append_known_exports(s, out);
	if (held)
		shell_release(s);
	else
		shell_unref(s);
}
