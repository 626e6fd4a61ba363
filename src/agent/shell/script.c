/* script.c: what a persistent shell is told, as text. */
#include "agent/shell/script.h"

#include <inttypes.h>
#include <signal.h>

#include "common/quote.h"

void
script_export(struct buf *to, const char *name, const char *value)
{
	if (value == NULL) {
		buf_fmt(to, "\\builtin unset -v %s\n", name);
		return;
	}
	buf_fmt(to, "\\builtin export %s=", name);
	quote_always(to, value);
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
		quote_always(to, json_string_value(value));
		buf_str(to, " ");
	}
	buf_str(to, "\\eval -- ");
	quote_always(to, command);
}

/*
 * What the trap runs.  Bash has no way to leave a command list from a trap at
 * once, but it has three that together do: with extdebug, a command whose
 * DEBUG trap fails is not run; within a function or a sourced file the trap
 * can return; and a broken loop runs nothing more (every command is inside one
 * of ours, and it is left from within: the head of a for would forget it).  A
 * subshell that was forked since ends itself.  It takes itself away when the
 * end is to be told, and with it a DEBUG trap of the tenant's.
 */
static const char LEAVE[] =
    "[[ $BASH_COMMAND == '\\builtin printf '\\''x '* ]] && "
    "{ \\builtin trap - DEBUG; \\builtin shopt -u extdebug; "
    "\\builtin true; } || "
    "{ [[ $BASHPID == $$ ]] || \\builtin kill -9 $BASHPID; "
    "[[ -z ${FUNCNAME-} ]] || \\builtin return 0; "
    "[[ $BASH_COMMAND == @(for|select)\\ * ]] || "
    "! \\builtin break 999 2>/dev/null; }";

int
script_abort_signal(void)
{
	return SIGRTMIN + 10; /* nobody's */
}

void
script_greet(struct buf *to)
{
	auto_buf struct buf action = { 0 };

	buf_str(&action, "\\builtin shopt -s extdebug; \\builtin trap ");
	quote_always(&action, LEAVE);
	buf_str(&action, " DEBUG; \\builtin :"); /* which it is run before */
	buf_str(to, "\\builtin shopt -s expand_aliases\n\\builtin trap ");
	quote_always(to, action.data);
	buf_fmt(to, " %d\n", script_abort_signal());
}

static void
put_cd(struct buf *to, const char *cwd)
{
	if (str_empty(cwd))
		return;
	buf_str(to, "\\builtin cd -- ");
	quote_always(to, cwd);
	buf_str(to, " 2>/dev/null\n");
}

static void
put_end(struct buf *to, int64_t seq, const char *status, const char *back)
{
	buf_fmt(to,
	    "\\builtin printf 'x %" PRId64 " %%d\\ne %" PRId64 "\\n' %s\n", seq,
	    seq, status);
	put_cd(to, back);
	buf_fmt(to,
	    "\\builtin export -p\n\\builtin printf 'd %" PRId64 "\\n'\n", seq);
}

/*
 * Makes the next line number 1 in bash's messages, not the number of lines that
 * the shell has read in its life.  After a simple command bash takes an
 * assignment of LINENO back, after the redirection of a group it does not.
 */
static void
put_line_one(struct buf *to)
{
	buf_str(to, "{ \\builtin :;} 2>&$((LINENO=0,2))\n");
}

/*
 * Bash reads what it is told byte by byte: short is fast.  In the loop (LEAVE
 * says why) a `break` that belongs to no other ends the command.
 */
void
script_run(struct buf *to, const struct script_command *c)
{
	bool moves = !str_empty(c->cwd);

	put_line_one(to);
	buf_str(to, "for _ in 1;do { ");
	if (moves) {
		buf_str(to, "if \\builtin cd -- ");
		quote_always(to, c->cwd);
		buf_str(to, " 2>/dev/null; then ");
	}
	put_eval(to, c->env, c->command);
	if (moves) {
		buf_str(to,
		    "\nelse \\builtin printf 'Failed to change directory to %s\\n' ");
		quote_always(to, c->cwd);
		buf_str(to, " >&2; \\builtin false; fi");
	}
	buf_fmt(to, "\n}</dev/null >%s 2>%s;done\n", c->out, c->err);
	put_end(to, c->seq, "$?", moves ? c->back : "");
}

void
script_sync(struct buf *to, int64_t seq, const char *back)
{
	buf_str(to, "\n");
	put_end(to, seq, "0", back);
}

void
script_dump(struct buf *to, const char *token)
{
	buf_fmt(to,
	    "\\builtin printf 'b %s\\n'\n"
	    "{ \\builtin declare -p; \\builtin declare -f; "
	    "\\builtin alias -p; \\builtin umask -p; \\builtin shopt -p; "
	    "\\builtin set +o; } 2>/dev/null\n"
	    "\\builtin printf '\\n%s\\n'\n",
	    token, token);
}

void
script_restore(struct buf *to, const char *state, const char *cwd)
{
	if (!str_empty(state)) {
		/* bash's own read-only variables complain, and are right */
		buf_str(to, "\\builtin eval ");
		quote_always(to, state);
		buf_str(to, " >/dev/null 2>&1 </dev/null\n");
	}
	put_cd(to, cwd);
}

void
script_alone(struct buf *to, const char *state, const json_t *env,
    const char *command, bool input)
{
	script_restore(to, state, "");
	put_cd(to, "."); /* PWD is as the state has it, and we are elsewhere */
	put_line_one(to);
	buf_str(to, "{ ");
	put_eval(to, env, command);
	buf_fmt(to, "\n} %s\n", input ? "<&3 3<&-" : "</dev/null");
}
