/* cp.c: copies files between this machine and a session. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/copy/copy.h"
#include "cli/http/sessions.h"
#include "cli/interrupts.h"
#include "cli/show.h"
#include "common/mem.h"

/* The source or the target. */
struct place {
	char *session; /* NULL: this machine */
	char *path;    /* absolute in a session; "-" here: stdin or stdout */
};

/* Parses "ID:path"; a word with a slash before its first colon is a local
 * path. */
static struct place
read_place(const char *word)
{
	size_t len = strcspn(word, ":/");
	const char *path = word + len + 1;

	if (word[len] != ':' || len == 0)
		return (struct place){ NULL, xstrdup(word) };
	return (struct place){ xasprintf("%.*s", (int)len, word),
		xasprintf("%s%s", path[0] == '/' ? "" : "/workspace/", path) };
}

static void
free_place(struct place *p)
{
	free(p->session);
	free(p->path);
}

#define auto_place __attribute__((cleanup(free_place)))

static void
drop_slashes(char *path)
{
	size_t len = strlen(path);

	while (len > 1 && path[len - 1] == '/')
		path[--len] = '\0';
}

/* The last part of a path; "" for "." and "..". */
static const char *
base_of(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *base = slash != NULL ? slash + 1 : path;

	return str_equal(base, ".") || str_equal(base, "..") ? "" : base;
}

/* `to` is an existing directory: the copy keeps the name of `from` in it. */
static void
append_name(struct place *to, const char *from)
{
	const char *base = base_of(from);
	char *into;

	if (base[0] == '\0')
		return;
	into = xasprintf("%s%s%s", to->path,
	    to->path[strlen(to->path) - 1] == '/' ? "" : "/", base);
	free(to->path);
	to->path = into;
}

static int
needs_recursive(const char *path, struct err *e)
{
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "%.150s is a directory; -r copies it with all that is in it", path);
}

static int
send_from_here(struct copy *k, bool tree, const char *from, struct place *to,
    struct err *e)
{
	bool stream = str_equal(from, "-");
	bool named_dir = to->path[strlen(to->path) - 1] == '/';
	enum copy_kind kind = COPY_DIRECTORY;
	struct stat st = { 0 };

	if (!stream && stat(from, &st) < 0)
		return err_errno(e, "%.150s", from);
	if (!stream && S_ISDIR(st.st_mode) && !tree)
		return needs_recursive(from, e);
	if (!named_dir && copy_look(k, to->path, &kind, e) < 0)
		return -1;
	if (kind == COPY_DIRECTORY && !stream)
		append_name(to, from);
	if (tree && (stream || S_ISDIR(st.st_mode)))
		return copy_tree_up(k, stream ? NULL : from, to->path, e);
	return copy_file_up(k, stream ? NULL : from, to->path, e);
}

static int
fetch_to_here(struct copy *k, bool tree, const char *from, struct place *to,
    struct err *e)
{
	bool stream = str_equal(to->path, "-");
	struct stat st;

	if (!stream && stat(to->path, &st) == 0 && S_ISDIR(st.st_mode))
		append_name(to, from);
	if (copy_file_down(k, from, stream ? NULL : to->path, e) == 0)
		return 0;
	if (!transfer_refused(e, CODE_IS_DIRECTORY))
		return -1;
	if (!tree)
		return needs_recursive(from, e);
	return copy_tree_down(k, from, stream ? NULL : to->path, e);
}

static int
copy_between(struct cli *c, struct place *from, struct place *to,
    struct copy *k, struct err *e)
{
	bool tree = args_has(&c->args, "recursive");
	bool is_up = to->session != NULL;
	char id[ID_MAX];
	int rc;

	drop_slashes(from->path);
	if (session_find(c->client, is_up ? to->session : from->session, id,
		e) < 0)
		return -1;
	k->id = id;
	/* a download removes its temporary file after a signal; after an
	   upload the session does */
	k->signals = is_up ? -1 : interrupts_open(e);
	if (!is_up && k->signals < 0)
		return -1;
	progress_begin(&k->progress, base_of(from->path),
	    !args_has(&c->args, "quiet") && !c->json);
	rc = is_up ? send_from_here(k, tree, from->path, to, e)
		   : fetch_to_here(k, tree, from->path, to, e);
	progress_end(&k->progress);
	mem_close_fd(&k->signals);
	return rc;
}

int
cmd_cp(struct cli *c, struct err *e)
{
	auto_place struct place from = read_place(c->args.operand[0]);
	auto_place struct place to = read_place(c->args.operand[1]);
	struct copy k = { .client = c->client };
	auto_json json_t *said = NULL;

	if ((from.session != NULL) == (to.session != NULL))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "one side must be ID:path, the other a path here (./a:b for a name with a colon)");
	if (from.path[0] == '\0' || to.path[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "a path must not be empty");
	if (copy_between(c, &from, &to, &k, e) < 0)
		return k.stopped != 0 ? 128 + k.stopped : -1;
	if (!c->json)
		return EXIT_SUCCESS;
	said = json_pack("{s:o, s:o, s:I}", "from", json_lossy(from.path), "to",
	    json_lossy(to.path), "bytes", (json_int_t)k.bytes);
	show_json(said);
	return EXIT_SUCCESS;
}
