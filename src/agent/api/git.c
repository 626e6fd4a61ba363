/* git.c: clones a git repository (POST api/git/checkout). */
#include <stdio.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/files/files.h"
#include "agent/git/git.h"
#include "common/clock.h"
#include "common/mem.h"

enum {
	BODY_MAX = 64 * 1024,
	BRANCH_MAX = 255,
	TIMEOUT_MS_DEFAULT = 10 * 60 * 1000,
	TIMEOUT_MS_MAX = 24 * 60 * 60 * 1000
};

struct options {
	int64_t depth, timeout_ms;
};

static const struct jfield OPTIONS[] = {
	JFIELD("depth", struct options, depth, J_INT, 0, 1, INT32_MAX,
	    "number of commits; all if absent"),
	JFIELD("timeoutMs", struct options, timeout_ms, J_INT, 0, 1,
	    TIMEOUT_MS_MAX, "gives up after this time"),
};

/* One call, decoded. */
struct checkout {
	struct git_url url;
	struct git_clone clone;
	struct buf shown;   /* the URL, without its secrets */
	const char *target; /* as the client wrote it; borrowed */
	char by_name[sizeof("/workspace/") + GIT_NAME_MAX];
	char dir[FILES_PATH_MAX];
};

static void
free_checkout(struct checkout **k)
{
	if (*k != NULL)
		buf_free(&(*k)->shown);
	mem_free_ptr(k);
}

/* ---- the body */

static int
read_url(const json_t *body, struct checkout *k, struct err *e)
{
	const char *text = NULL;

	if (request_text(body, "repoUrl", 0, BODY_MAX, &text, e) < 0)
		return -1;
	if (git_url_read(text, &k->url, e) < 0)
		return -1;
	git_url_redact(&k->url, text, strlen(text), &k->shown);
	return 0;
}

static int
read_branch(const json_t *body, struct checkout *k, struct err *e)
{
	if (json_object_get(body, "branch") == NULL)
		return 0;
	if (request_text(body, "branch", 1, BRANCH_MAX, &k->clone.branch, e) <
	    0)
		return -1;
	if (k->clone.branch[0] == '-')
		return err_field(e, "branch", "must not begin with '-'");
	return 0;
}

static int
read_target(const json_t *body, struct checkout *k, struct err *e)
{
	char cwd[SHELL_PATH_MAX], name[GIT_NAME_MAX];

	if (json_object_get(body, "targetDir") == NULL) {
		git_url_name(&k->url, name);
		snprintf(k->by_name, sizeof(k->by_name), "/workspace/%s", name);
		k->target = k->by_name;
	} else if (request_text(body, "targetDir", 1, FILES_PATH_MAX - 1,
		       &k->target, e) < 0) {
		return -1;
	}
	shell_cwd(k->clone.shell, cwd);
	return files_resolve(cwd, k->target, k->dir, e);
}

static int
decode(struct call *c, const json_t *body, struct checkout *k, struct err *e)
{
	struct options o = { .timeout_ms = TIMEOUT_MS_DEFAULT };

	if (read_url(body, k, e) < 0)
		return -1;
	request_context(c,
	    json_pack("{s:o}", "repository", json_lossy(k->shown.data)));
	if (jfield_decode(body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, &o, e) <
		0 ||
	    request_shell(c, body, k->clone.shell, e) < 0 ||
	    execution_read(c, body, "git/checkout", &k->clone.execution, e) <
		0 ||
	    read_branch(body, k, e) < 0 || read_target(body, k, e) < 0)
		return -1;
	k->clone.url = &k->url;
	k->clone.dir = k->dir;
	k->clone.depth = o.depth;
	k->clone.timeout_ms = o.timeout_ms;
	return 0;
}

/* ---- the answer */

static const char UNREACHABLE[] =
    "Allow the repository's host in network.allow of the session; @github is a "
    "preset for github.com.  Or bring the repository in with "
    "`sandlease cp -r DIR NAME:/workspace`, with PUT archive/{path}, or start "
    "from a snapshot that has it.";

static void
set_failure_context(struct call *c, const struct checkout *k,
    const struct git_outcome *o, const struct err *e)
{
	json_t *context = json_pack("{s:o, s:s*, s:o, s:i}", "repository",
	    json_lossy(k->shown.data), "branch", k->clone.branch, "targetDir",
	    json_lossy(k->target), "exitCode", o->how.exit_code);

	json_object_set_new(context, "stderr",
	    json_bytes(o->said.len > 0 ? o->said.data : "", o->said.len));
	if (e->code == CODE_GIT_NETWORK_ERROR)
		json_object_set_new(context, "suggestion",
		    json_string(UNREACHABLE));
	request_context(c, context);
}

static void
reply_cloned(struct call *c, const struct checkout *k,
    const struct git_outcome *o)
{
	auto_json json_t *body = NULL;
	const char *asked = k->clone.branch;
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	body = json_pack("{s:b, s:o, s:o, s:s, s:s}", "success", 1, "repoUrl",
	    json_lossy(k->shown.data), "targetDir", json_lossy(k->target),
	    "executionId", k->clone.execution.id, "timestamp", at);
	/* a clone at a tag or a single commit is on no branch */
	if (o->branch.len > 0)
		json_object_set_new(body, "branch",
		    json_bytes(o->branch.data, o->branch.len));
	else
		json_object_set_new(body, "branch",
		    json_string(asked != NULL ? asked : "unknown"));
	call_reply(c, 200, body);
}

int
api_git_checkout(struct call *c, struct err *e)
{
	__attribute__((cleanup(free_checkout))) struct checkout *k =
	    xcalloc(1, sizeof(*k));
	auto_git struct git_outcome o = { 0 };
	auto_json json_t *body = NULL;

	if (request_body(c, BODY_MAX, &body, e) < 0 ||
	    decode(c, body, k, e) < 0)
		return -1;
	execution_tell(c, &k->clone.execution);
	if (git_clone(&k->clone, &o, e) < 0) {
		set_failure_context(c, k, &o, e);
		return -1;
	}
	reply_cloned(c, k, &o);
	return 0;
}
