/* create.c: creates a session, or finds the one of that name. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/cmd/create.h"
#include "cli/http/sessions.h"
#include "cli/network.h"
#include "cli/pairs.h"
#include "cli/show.h"
#include "common/base64.h"
#include "common/mem.h"

enum { FILE_MAX = 16 * 1024 * 1024, FIRST_WAIT_S = 10 };

static int
read_whole(const char *name, struct buf *out, mode_t *mode, struct err *e)
{
	auto_fd int fd = open(name, O_RDONLY | O_CLOEXEC);
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%.150s", name);
	if (st.st_size > FILE_MAX)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%.150s is too large for --file; sandlease cp copies it",
		    name);
	*mode = st.st_mode & 0777;
	while (out->len <= FILE_MAX) {
		n = read(fd, buf_room(out, 65536), 65536);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "%.150s", name);
		if (n == 0)
			break;
		out->len += (size_t)n;
	}
	return 0;
}

/* Adds the file of "LOCAL:REMOTE" or "LOCAL", which goes to /workspace. */
static int
add_file(json_t *files, const char *spec, struct err *e)
{
	auto_free char *local = xstrdup(spec);
	auto_free char *remote = NULL;
	auto_buf struct buf bytes = { 0 }, text = { 0 };
	char *colon = strrchr(local, ':');
	const char *base;
	mode_t mode = 0;

	if (colon != NULL)
		*colon = '\0';
	base = strrchr(local, '/');
	base = base != NULL ? base + 1 : local;
	remote = colon != NULL && colon[1] != '\0'
	    ? xasprintf("%s%s", colon[1] == '/' ? "" : "/workspace/", colon + 1)
	    : xasprintf("/workspace/%s", base);
	if (read_whole(local, &bytes, &mode, e) < 0)
		return -1;
	base64_encode(&text, bytes.data, bytes.len);
	if (json_array_append_new(files,
		json_pack("{s:s, s:s, s:i}", "path", remote, "contentBase64",
		    text.data, "mode", (int)mode)) < 0)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--file: only UTF-8 can be sent");
	return 0;
}

static int
add_files(const struct args *a, json_t *body, struct err *e)
{
	auto_json json_t *files = json_array();
	const char *spec;

	for (size_t i = 0; (spec = args_nth(a, "file", i)) != NULL; i++)
		if (add_file(files, spec, e) < 0)
			return -1;
	if (json_array_size(files) > 0)
		json_object_set(body, "files", files);
	return 0;
}

static int
make_body(const struct args *a, json_t *body, struct err *e)
{
	static const struct {
		const char *option, *field;
	} TEXTS[] = { { "name", "name" }, { "class", "class" },
		{ "setup", "setup" }, { "sleep-after", "sleepAfter" },
		{ "snapshot", "snapshot" } };

	for (size_t i = 0; i < ARRAY_LEN(TEXTS); i++) {
		const char *v = args_value(a, TEXTS[i].option);

		if (v != NULL &&
		    json_object_set_new(body, TEXTS[i].field, json_string(v)) <
			0)
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "--%s: only UTF-8 can be sent", TEXTS[i].option);
	}
	/* only a sandbox of its own can have a class */
	if (args_has(a, "isolated") || args_has(a, "class"))
		json_object_set_new(body, "isolation", json_string("session"));
	if (args_has(a, "keep-alive"))
		json_object_set_new(body, "keepAlive", json_true());
	if (pairs_add(a, "env", body, "env", e) < 0 ||
	    pairs_add(a, "label", body, "labels", e) < 0 ||
	    network_add(a, body, e) < 0)
		return -1;
	return add_files(a, body, e);
}

static int
print_session(const struct cli *k, const json_t *s, struct err *e)
{
	const char *state = json_str(s, "state");

	if (k->json)
		show_json(s);
	else
		puts(json_str(s, "id"));
	if (str_equal(state, "ready") || str_equal(state, "initializing"))
		return EXIT_SUCCESS;
	return err_set(e, ERR_UNAVAILABLE, CODE_FAILED,
	    "the session is %s: %.100s; sandlease logs %s tells more", state,
	    json_str(s, "reason"), json_str(s, "id"));
}

int
create_session(struct cli *k, int64_t wait_s, json_t **out, struct err *e)
{
	auto_json json_t *body = json_object(), *s = NULL;
	auto_free char *path = NULL;
	bool pending;

	if (make_body(&k->args, body, e) < 0)
		return -1;
	/* with a setup do not wait here: session_settle() prints its output */
	path = xasprintf("/v1/sessions?wait=%d",
	    wait_s == 0 || args_has(&k->args, "setup") ? 0
		: wait_s > 0 && wait_s < FIRST_WAIT_S  ? (int)wait_s
						       : FIRST_WAIT_S);
	if (client_call(k->client, "POST", path, body, &s, e) < 0)
		return -1;
	pending = str_equal(json_str(s, "state"), "initializing");
	if (!pending || wait_s == 0) {
		*out = TAKE(s);
		return 0;
	}
	return session_settle(k->client, json_str(s, "id"), "initializing",
	    wait_s, k->json ? NULL : stderr, out, e);
}

/* Prints the id to stderr: stdout shows the terminal. */
static int
open_shell(struct cli *k, const json_t *s, struct err *e)
{
	auto_free char *id = xstrdup(json_str(s, "id"));
	struct cli inner;
	int rc;

	fprintf(stderr, "%s\n", id);
	command_borrow(k, "shell", 1, &id, &inner);
	rc = cmd_shell(&inner, e);
	args_free(&inner.args);
	return rc;
}

int
cmd_create(struct cli *k, struct err *e)
{
	auto_json json_t *s = NULL;
	int64_t wait_s = -1;

	if (args_number(&k->args, "wait", 0, 86400, &wait_s, e) < 0 ||
	    create_session(k, wait_s, &s, e) < 0)
		return -1;
	if (!args_has(&k->args, "shell") ||
	    !str_equal(json_str(s, "state"), "ready"))
		return print_session(k, s, e);
	return open_shell(k, s, e);
}
