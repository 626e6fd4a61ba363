/* git.c: clones a repository into the session. */
#include "agent/git/git.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/files/files.h"
#include "agent/files/temp_file.h"
#include "agent/git/error.h"
#include "agent/shell/exec.h"
#include "agent/shell/script.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/quote.h"

enum {
	SAID_MAX = 8192,
	BRANCH_MAX = 1024,
	SWEEP_MS = 60000,
	CONFIG_MAX = 64 * 1024,
	GIT_DIED = 128 /* git's own fatal error; above it: killed by a signal */
};

/* ---- command and environment of git */

/*
 * A credential helper for the server of the URL only.  It prints user and
 * password from the environment of the git process.
 */
static const char HELPER[] =
    "!f() { printf 'username=%s\\npassword=%s\\n' "
    "\"$SANDLEASE_GIT_USER\" \"$SANDLEASE_GIT_PASSWORD\"; }; f";

static bool
has_user(const struct git_url *u)
{
	return u->user[0] != '\0' || u->password[0] != '\0';
}

/*
 * git must not prompt, because the process has no terminal.  A credential
 * helper of the tenant may still answer.
 */
static json_t *
git_environment(const struct git_url *u)
{
	json_t *env =
	    json_pack("{s:s, s:s, s:s}", "LC_ALL", "C", "GIT_TERMINAL_PROMPT",
		"0", "GIT_ALLOW_PROTOCOL", "file:git:http:https:ssh");

	if (has_user(u)) {
		json_object_set_new(env, "SANDLEASE_GIT_USER",
		    json_string_nocheck(u->user));
		json_object_set_new(env, "SANDLEASE_GIT_PASSWORD",
		    json_string_nocheck(u->password));
	}
	return env;
}

/* Appends an argument: an option's name, or "", and a quoted value. */
static void
add_word(struct buf *to, const char *option, const char *value)
{
	buf_fmt(to, " %s", option);
	quote_always(to, value);
}

static void
add_helper(struct buf *to, const struct git_url *u)
{
	auto_free char *key = xasprintf("credential.%s.helper", u->origin);

	/* an empty value removes all other helpers: we have the password */
	if (u->password[0] != '\0') {
		add_word(to, "-c ", key);
		buf_str(to, "=");
	}
	add_word(to, "-c ", key);
	buf_str(to, "=");
	quote_always(to, HELPER);
}

static void
write_command(const struct git_clone *g, struct buf *to)
{
	buf_str(to, "\\builtin command git -c core.hooksPath=/dev/null");
	if (has_user(g->url))
		add_helper(to, g->url);
	buf_str(to, " clone");
	if (g->branch != NULL)
		add_word(to, "--branch=", g->branch);
	if (g->depth > 0)
		buf_fmt(to, " --depth=%lld", (long long)g->depth);
	buf_str(to, " --");
	add_word(to, "", g->url->plain);
	add_word(to, "", g->dir);
	buf_str(to, " || \\builtin exit\n\\builtin command git -C");
	add_word(to, "", g->dir);
	buf_str(to, " branch --show-current 2>/dev/null || :");
}

/* ---- output of git */

struct git_output {
	struct buf out, err;
	bool began;
};

static void
note_start(void *ctx, pid_t pid)
{
	struct git_output *h = ctx;

	(void)pid;
	h->began = true;
}

static void
keep_output(void *ctx, int which, const char *data, size_t len)
{
	struct git_output *h = ctx;
	struct buf *b = which == 0 ? &h->out : &h->err;

	if (which == 0) {
		buf_add(b, data,
		    len < BRANCH_MAX - b->len ? len : BRANCH_MAX - b->len);
		return;
	}
	/* keep the end: the reason of a failure comes last */
	buf_add(b, data, len);
	if (b->len > SAID_MAX) {
		memmove(b->data, b->data + b->len - SAID_MAX, SAID_MAX);
		b->len = SAID_MAX;
	}
}

static int
clone_error(const struct git_clone *g, const struct git_output *h,
    const struct git_outcome *o, struct err *e)
{
	const struct git_error *r =
	    git_error_find(h->err.len > 0 ? h->err.data : "", h->err.len);
	size_t len = 0;
	const char *line = git_error_line(o->said.len > 0 ? o->said.data : "",
	    o->said.len, &len);

	if (o->how.destroyed)
		return shell_destroyed(g->shell, e);
	if (o->how.timed_out)
		return err_set(e, ERR_BAD_GATEWAY, CODE_GIT_NETWORK_ERROR,
		    "Git clone did not finish within %lld ms",
		    (long long)g->timeout_ms);
	if (o->how.interrupted)
		return err_set(e, ERR_CONFLICT, CODE_OPERATION_INTERRUPTED,
		    "Git clone was interrupted");
	return err_set(e, r->kind, r->code, "%s: %.*s", r->message, (int)len,
	    line);
}

/* ---- the directory */

/* The target before the clone: absent, an empty directory, or in use. */
enum place { PLACE_FREE, PLACE_EMPTY, PLACE_TAKEN };

static enum place
look_at_dir(const char *dir)
{
	enum place p = PLACE_EMPTY;
	const struct dirent *d;
	struct stat st;
	DIR *all;

	if (lstat(dir, &st) < 0)
		return PLACE_FREE;
	all = opendir(dir);
	if (all == NULL)
		return PLACE_TAKEN;
	while (p == PLACE_EMPTY && (d = readdir(all)) != NULL)
		if (!str_equal(d->d_name, ".") && !str_equal(d->d_name, ".."))
			p = PLACE_TAKEN;
	closedir(all);
	return p;
}

static void
discard_output(void *ctx, int which, const char *data, size_t len)
{
	(void)ctx;
	(void)which;
	(void)data;
	(void)len;
}

static void
remove_partial_clone(const char *dir, enum place before)
{
	auto_buf struct buf command = { 0 };
	struct exec x = { .shell = EXEC_SESSIONLESS,
		.timeout_ms = SWEEP_MS,
		.output = discard_output };
	struct shell_outcome o;
	struct err e = { 0 };

	buf_str(&command, before == PLACE_FREE ? "rm -rf --" : "find -H");
	add_word(&command, "", dir);
	if (before == PLACE_EMPTY)
		buf_str(&command, " -mindepth 1 -delete");
	x.command = command.data;
	if (exec_beside(&x, &o, &e) < 0)
		log_err(LOG_INFO, "git_sweep", &e);
}

static int
read_config(const char *path, struct buf *out, struct err *e)
{
	auto_fd int fd =
	    open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return files_fail(e, path);
	n = read(fd, buf_room(out, CONFIG_MAX + 1), CONFIG_MAX);
	if (n < 0)
		return files_fail(e, path);
	out->len = (size_t)n;
	out->data[n] = '\0';
	return 0;
}

/*
 * Writes user and password into the URL in .git/config: git got a URL without
 * them, but a later fetch or push needs them.  A clone by hand of such a URL
 * keeps them there, too.
 */
static void
keep_user(const struct git_clone *g)
{
	auto_free char *path = xasprintf("%s/.git/config", g->dir);
	auto_buf struct buf old = { 0 }, text = { 0 };
	const char *host;
	struct err e = { 0 };

	if (!has_user(g->url))
		return;
	if (read_config(path, &old, &e) < 0) {
		log_err(LOG_INFO, "git_config", &e);
		return;
	}
	host = strstr(old.data, "://"); /* the first URL is that of origin */
	if (host == NULL)
		return;
	host += 3;
	buf_add(&text, old.data, (size_t)(host - old.data));
	git_url_userinfo(g->url, &text);
	buf_str(&text, host);
	if (temp_file_write_file(path,
		&(struct temp_file_source){ .data = text.data,
		    .len = text.len,
		    .fd = -1 },
		-1, &e) < 0)
		log_err(LOG_INFO, "git_config", &e);
}

/* ---- the clone */

static int
run_git(const struct git_clone *g, struct git_output *h,
    struct git_outcome *out, struct err *e)
{
	auto_json json_t *env = git_environment(g->url);
	auto_buf struct buf command = { 0 };
	struct exec x = { .env = env,
		.timeout_ms = g->timeout_ms,
		.output = keep_output,
		.started = note_start,
		.ctx = h,
		.execution = &g->execution,
		.is_work = true };

	write_command(g, &command);
	x.command = command.data;
	str_copy(x.shell, sizeof(x.shell), g->shell);
	return exec_beside(&x, &out->how, e);
}

/*
 * Whether git was killed.  If it fails by itself it removes its own files, and
 * it knows better than we do which ones these are.
 */
static bool
was_killed(const struct git_output *h, const struct shell_outcome *o)
{
	return h->began &&
	    (o->timed_out || o->interrupted || o->exit_code > GIT_DIED);
}

int
git_clone(const struct git_clone *g, struct git_outcome *out, struct err *e)
{
	enum place before = look_at_dir(g->dir);
	struct git_output h = { 0 };
	int rc;

	*out = (struct git_outcome){ 0 };
	rc = run_git(g, &h, out, e);
	if (rc == 0) {
		git_url_redact(g->url, h.err.data, h.err.len, &out->said);
		if (out->how.exit_code != 0)
			rc = clone_error(g, &h, out, e);
		else
			keep_user(g);
	}
	if (rc == 0 && h.out.len > 0)
		buf_add(&out->branch, h.out.data, strcspn(h.out.data, "\n"));
	if (rc < 0 && before != PLACE_TAKEN && was_killed(&h, &out->how))
		remove_partial_clone(g->dir, before);
	buf_free(&h.out);
	buf_free(&h.err);
	return rc;
}

void
git_release(struct git_outcome *o)
{
	buf_free(&o->branch);
	buf_free(&o->said);
}
