/* script.c: what a persistent shell is told, as text. */
#include "agent/script.h"

#include <inttypes.h>
#include <string.h>

void
script_quote(struct buf *to, const char *s)
{
	buf_str(to, "'");
	for (;;) {
		size_t n = strcspn(s, "'");

		buf_add(to, s, n);
		if (s[n] == '\0')
			break;
		buf_str(to, "'\\''");
		s += n + 1;
	}
	buf_str(to, "'");
}

void
script_export(struct buf *to, const char *name, const char *value)
{
	if (value == NULL) {
		buf_fmt(to, "\\builtin unset -v %s\n", name);
		return;
	}
	buf_fmt(to, "\\builtin export %s=", name);
	script_quote(to, value);
	buf_str(to, "\n");
}

/*
 * Assignments before eval hold for that eval and reach what it starts; bash
 * takes them back afterwards, whatever the command did.
 */
static void
put_eval(struct buf *to, const json_t *env, const char *command)
{
	const char *name;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)env, name, value)
	{
		if (!json_is_string(value))
			continue;
		buf_fmt(to, "%s=", name);
		script_quote(to, json_string_value(value));
		buf_str(to, " ");
	}
	buf_str(to, "\\eval ");
	script_quote(to, command);
}

void
script_run(struct buf *to, const struct script_command *c)
{
	bool moves = !str_empty(c->cwd);

	buf_str(to, "{\n");
	if (moves) {
		buf_str(to, "if \\builtin cd -- ");
		script_quote(to, c->cwd);
		buf_str(to, " 2>/dev/null; then\n");
	}
	put_eval(to, c->env, c->command);
	if (moves) {
		buf_str(to,
		    "\nelse \\builtin printf 'Failed to change directory to %s\\n' ");
		script_quote(to, c->cwd);
		buf_str(to, " >&2; \\builtin false; fi");
	}
	buf_str(to, "\n} </dev/null >");
	script_quote(to, c->out);
	buf_str(to, " 2>");
	script_quote(to, c->err);
	buf_fmt(to, "\n\\builtin printf 'x %" PRId64 " %%d\\n' \"$?\"\n",
	    c->seq);
	if (moves) {
		buf_str(to, "\\builtin cd -- ");
		script_quote(to, c->back);
		buf_str(to, " 2>/dev/null\n");
	}
	buf_fmt(to, "\\builtin printf 'd %" PRId64 "\\n'\n", c->seq);
}

void
script_dump(struct buf *to, const char *token)
{
	buf_fmt(to,
	    "{ \\builtin declare -p; \\builtin declare -f; "
	    "\\builtin alias -p; \\builtin umask -p; \\builtin shopt -p; "
	    "\\builtin set +o; } 2>/dev/null\n"
	    "\\builtin printf '\\n%s\\n'\n",
	    token);
}

void
script_restore(struct buf *to, const char *state)
{
	if (str_empty(state))
		return;
	/* bash's own read-only variables complain, and are right */
	buf_str(to, "\\builtin eval ");
	script_quote(to, state);
	buf_str(to, " >/dev/null 2>&1 </dev/null\n");
}

void
script_alone(struct buf *to, const char *state, const json_t *env,
    const char *command, bool input)
{
	script_restore(to, state);
	buf_str(to, "{ ");
	put_eval(to, env, command);
	buf_fmt(to, "\n} %s\n", input ? "<&3 3<&-" : "</dev/null");
}
