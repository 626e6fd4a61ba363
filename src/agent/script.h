/*
 * script.h: what a persistent shell is told, as text.
 *
 * The shell reads commands from its descriptor 0 and answers on its
 * descriptor 1, one line each:
 *
 *     x N STATUS   command N has ended
 *     d N          the shell is as it was, ready for the next
 *
 * Every command gets descriptors 0, 1 and 2 of its own; bash keeps the
 * shell's in close-on-exec copies, so that what a command starts has only
 * those three.  Pure: no process is touched here.
 */
#ifndef SANDLEASE_AGENT_SCRIPT_H
#define SANDLEASE_AGENT_SCRIPT_H

#include <stdint.h>

#include "common/json.h"
#include "common/str.h"

/* One command for a living shell. */
struct script_command {
	int64_t seq;
	const char *command;
	const json_t *env;     /* of this call only; NULL: none */
	const char *cwd;       /* of this call only; "": the shell's own */
	const char *back;      /* where the shell was, when cwd is given */
	const char *out, *err; /* paths of the fifos */
};

/* s as one word of the shell. */
void script_quote(struct buf *to, const char *s);

/* Exports name with value, or unsets it when value is NULL. */
void script_export(struct buf *to, const char *name, const char *value);

void script_run(struct buf *to, const struct script_command *c);

/*
 * Makes the shell print everything that makes it what it is (variables,
 * functions, aliases, options, umask), then a line with `token`.
 */
void script_dump(struct buf *to, const char *token);

/*
 * A shell of its own that takes over `state` (may be ""), then runs command,
 * which reads descriptor 3 if it has `input`, else nothing.
 */
void script_alone(struct buf *to, const char *state, const json_t *env,
    const char *command, bool input);

/* Makes a fresh shell take over `state`. */
void script_restore(struct buf *to, const char *state);

#endif
