/* script.c: writes the bash scripts that the wrapper sends to a shell. */
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
 * Assignments before eval hold for that eval and are in the environment of the
 * programs it starts.  Bash undoes them afterwards, even if the command has
 * changed the variables.
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
 * The DEBUG trap that the abort signal sets.  Bash cannot leave a command list
 * from a trap at once, but three features together do.  With extdebug, bash
 * skips a command whose DEBUG trap fails.  In a function or a sourced file the
 * trap can return.  After `break` a loop runs nothing more: every command is in
 * a loop of ours.  The trap breaks only from within the loop's body, because in
 * the head of a `for` bash would forget the break.  A subshell that was forked
 * meanwhile kills itself.  Before the `x` line is printed, the trap removes
 * itself, and with it a DEBUG trap of the tenant.
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
	return SIGRTMIN + 10; /* no other use is known */
}

void
script_greet(struct buf *to)
{
	auto_buf struct buf action = { 0 };

	buf_str(&action, "\\builtin shopt -s extdebug; \\builtin trap ");
	quote_always(&action, LEAVE);
	/* the DEBUG trap runs before the next command, which is this `:` */
	buf_str(&action, " DEBUG; \\builtin :");
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
 * Resets LINENO, so that bash's messages count lines from the command's first
 * line and not from the shell's start.  After a simple command bash restores
 * LINENO, so the assignment is in the redirection of a group.
 */
static void
put_line_one(struct buf *to)
{
	buf_str(to, "{ \\builtin :;} 2>&$((LINENO=0,2))\n");
}

/*
 * The script is short because bash reads it byte by byte.  The command runs in
 * a loop (LEAVE says why), so a `break` outside any loop of the command ends
 * the command.
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
		/* hide bash's errors about setting read-only variables */
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
	/* the restored PWD is the other shell's: make bash set its own */
	put_cd(to, ".");
	put_line_one(to);
	buf_str(to, "{ ");
	put_eval(to, env, command);
	buf_fmt(to, "\n} %s\n", input ? "<&3 3<&-" : "</dev/null");
}
