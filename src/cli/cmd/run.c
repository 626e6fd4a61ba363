/*
 * run.c: creates a session, runs a command in it, and deletes the session.
 *
 * The session is deleted after a failure or a signal, too.  It is kept with
 * --keep, and if changes of the command could not be copied back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/create.h"
#include "cli/copy/volume.h"
#include "cli/http/sessions.h"
#include "cli/interrupts.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/quote.h"
#include "common/token.h"

#define LABEL "sandlease-run"
#define MADE_BY "made-by=run" /* to find sessions left behind by SIGKILL */
#define SCRIPT "/tmp/sandlease-run"

enum { VOLUMES_MAX = 8 };

struct run {
	struct cli *cli;
	bool keep, tty;
	char token[TOKEN_PREVIEW_LEN + 1]; /* value of the label LABEL */
	char id[ID_MAX];                   /* of the session; "": not known */
	int signals;
	struct volume volume[VOLUMES_MAX];
	size_t volumes;
	int conflicts;
	bool has_work; /* changes may be in the session only: keep it */
};

/* ---- options */

static int
add_volume(struct run *r, const char *spec, struct err *e)
{
	struct volume *v = &r->volume[r->volumes];

	if (volume_parse(spec, v, e) < 0)
		return -1;
	r->volumes++;
	for (size_t i = 0; i + 1 < r->volumes; i++)
		if (volume_overlaps(v, &r->volume[i]))
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "a volume must not lie in another one in the session: %.100s and %.100s",
			    r->volume[i].there, v->there);
	return 0;
}

static int
check_options(struct run *r, struct err *e)
{
	const struct args *a = &r->cli->args;
	bool line = args_value(a, "command") != NULL;
	const char *spec;

	if (args_has(a, "keep") && args_has(a, "rm"))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--keep and --rm exclude each other");
	if (args_has(a, "name") && !r->keep)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--name needs --keep, because a session of that name may exist, and must not be deleted");
	if (r->tty && r->cli->json)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "a terminal cannot be printed as JSON");
	if (line ? a->operands > 0 : a->operands == 0 && !r->tty)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "say what to run: sandlease run [options] -- COMMAND..., or -c LINE, or -t for a shell");
	for (size_t i = 0; (spec = args_nth(a, "volume", i)) != NULL; i++) {
		if (i == VOLUMES_MAX)
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "at most %d volumes can be given", VOLUMES_MAX);
		if (add_volume(r, spec, e) < 0)
			return -1;
	}
	return 0;
}

/* ---- the session */

/*
 * Gives the session a label with a random value.  clean_up() finds the session
 * by it if the answer was lost, or was an error without the session's id.
 */
static int
make_session(struct run *r, struct err *e)
{
	auto_free char *label = NULL;
	auto_json json_t *s = NULL;

	if (token_init(e) < 0)
		return -1;
	token_make(r->token);
	label = xasprintf("%s=%s", LABEL, r->token);
	args_add(&r->cli->args, "label", label);
	args_add(&r->cli->args, "label", MADE_BY);
	client_heed(r->cli->client, r->signals);
	if (create_session(r->cli, -1, &s, e) < 0)
		return -1;
	client_heed(r->cli->client, -1);
	str_copy(r->id, sizeof(r->id), json_str(s, "id"));
	if (str_equal(json_str(s, "state"), "ready"))
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_FAILED,
	    "the session is %s: %.150s", json_str(s, "state"),
	    json_str(s, "reason"));
}

static int
delete_one(void *ctx, json_t *session, struct err *e)
{
	struct client *c = ctx;

	return session_call(c, "DELETE", json_str(session, "id"), "", NULL,
	    NULL, e);
}

/* Deletes the session; if that fails, prints how to find it. */
static void
clean_up(struct run *r)
{
	auto_free char *query = xasprintf("label=%s:%s&", LABEL, r->token);
	auto_free char *text = NULL;
	struct client *c = r->cli->client;
	struct err e = { 0 };
	int rc;

	client_heed(c, -1);
	if (r->id[0] != '\0')
		rc = session_call(c, "DELETE", r->id, "", NULL, NULL, &e);
	else
		rc = session_each(c, query, delete_one, c, &e);
	if (rc == 0 || e.kind == ERR_NOT_FOUND)
		return;
	text = xasprintf(
	    "%s; the session may still be there: sandlease rm --label %s=%s",
	    e.msg, LABEL, r->token);
	show_problem(text);
}

/* True if the session is deleted, by another client or by its expiry date. */
static bool
is_gone(const struct run *r)
{
	auto_json json_t *s = NULL;
	struct err e = { 0 };

	if (session_call(r->cli->client, "GET", r->id, "", NULL, &s, &e) < 0)
		return e.kind == ERR_NOT_FOUND || e.kind == ERR_GONE;
	return str_starts(json_str(s, "state"), "delet");
}

/* Prints that the session is kept, and how to get the files out of it. */
static void
report_kept(const struct run *r)
{
	auto_free char *text = xasprintf(
	    "session %s is kept, with the changes of the command: sandlease cp -r %s:DIR . copies them, sandlease rm %s deletes the session",
	    r->id, r->id, r->id);

	client_heed(r->cli->client, -1);
	if (!is_gone(r))
		show_problem(text);
}

/* ---- the command */

/* Writes the command into a script: a terminal runs a program without
 * arguments. */
static int
put_script(struct run *r, struct err *e)
{
	const struct args *a = &r->cli->args;
	const char *line = args_value(a, "command");
	const char *dir = args_value(a, "workdir");
	auto_free char *path =
	    xasprintf("/v1/sessions/%s/files%s?mode=0700", r->id, SCRIPT);
	auto_buf struct buf text = { 0 };

	buf_str(&text, "#!/bin/bash\n");
	if (dir != NULL) {
		buf_str(&text, "cd -- ");
		quote_word(&text, dir);
		buf_str(&text, " || exit 125\n");
	}
	buf_str(&text, line != NULL ? line : "exec ");
	if (line == NULL && a->operands == 0)
		buf_str(&text, "bash");
	else if (line == NULL)
		quote_words(&text, a->operands, a->operand);
	buf_str(&text, "\n");
	return client_run(r->cli->client,
	    &(struct request){ .method = "PUT",
		.path = path,
		.bytes = text.data,
		.len = text.len },
	    NULL, e);
}

static int
run_terminal(struct run *r, struct err *e)
{
	char *operands[] = { r->id };
	struct cli inner;
	int rc;

	if (put_script(r, e) < 0)
		return -1;
	command_borrow(r->cli, "shell", 1, operands, &inner);
	args_add(&inner.args, "shell", SCRIPT);
	/* after a detach the session would be deleted: allow no escape */
	if (!r->keep)
		args_add(&inner.args, "no-escape", NULL);
	rc = cmd_shell(&inner, e);
	args_free(&inner.args);
	return rc;
}

static int
run_command(struct run *r, struct err *e)
{
	static char dashes[] = "--";
	const struct args *a = &r->cli->args;
	int count = a->operands;
	auto_free char **words = xcalloc((size_t)count + 2, sizeof(*words));
	struct cli inner;
	int rc;

	words[0] = r->id;
	words[1] = dashes;
	memcpy(words + 2, a->operand, (size_t)count * sizeof(*words));
	command_borrow(r->cli, "exec", count > 0 ? count + 2 : 1, words,
	    &inner);
	rc = cmd_exec(&inner, e);
	args_free(&inner.args);
	return rc;
}

/* Copies changes back, also if the command failed with `code`. */
static int
fetch_volumes(struct run *r, struct copy *k, int code, struct err *e)
{
	int rc = code;

	for (size_t i = 0; i < r->volumes; i++) {
		struct err now = { 0 };

		if (volume_fetch(k, &r->volume[i], &r->conflicts, &now) == 0)
			continue;
		if (rc < 0)
			show_problem(e->msg);
		r->has_work = true;
		*e = now;
		err_wrap(e, "%.100s was not copied back completely",
		    r->volume[i].here);
		rc = -1;
	}
	if (rc >= 0 && r->conflicts > 0)
		rc = rc == 0 ? EXIT_OURS : rc;
	return rc;
}

/* Copies the volumes in, runs the command, and copies the volumes back. */
static int
run_with_volumes(struct run *r, struct err *e)
{
	struct copy k = { .client = r->cli->client,
		.id = r->id,
		.signals = r->signals };
	int rc;

	for (size_t i = 0; i < r->volumes; i++)
		if (volume_send(&k, &r->volume[i], e) < 0)
			return k.stopped != 0 ? 128 + k.stopped : -1;
	rc = r->tty ? run_terminal(r, e) : run_command(r, e);
	rc = fetch_volumes(r, &k, rc, e);
	return rc < 0 && k.stopped != 0 ? 128 + k.stopped : rc;
}

int
cmd_run(struct cli *k, struct err *e)
{
	struct run r = { .cli = k,
		.keep = args_has(&k->args, "keep"),
		.tty = args_has(&k->args, "tty"),
		.signals = -1 };
	int rc = check_options(&r, e);

	if (rc == 0)
		rc = r.signals = interrupts_open(e);
	if (rc >= 0) {
		rc = make_session(&r, e);
		if (rc == 0)
			rc = run_with_volumes(&r, e);
		else if (client_stopped(k->client) != 0)
			rc = 128 + client_stopped(k->client);
		if (r.has_work)
			report_kept(&r);
		else if (!r.keep)
			clean_up(&r);
		else if (r.id[0] != '\0')
			fprintf(stderr, "sandlease: session %s is kept\n",
			    r.id);
	}
	for (size_t i = 0; i < r.volumes; i++)
		volume_free(&r.volume[i]);
	mem_close_fd(&r.signals);
	return rc;
}
