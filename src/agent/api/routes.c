/* routes.c: the table of routes in a session, and their dispatcher. */
#include "agent/api/routes.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/base/serve.h"
#include "agent/cell/limits_view.h"
#include "agent/run/activity.h"
#include "agent/run/session_end.h"
#include "agent/shell/envset.h"
#include "agent/shell/path_list.h"
#include "common/log.h"
#include "common/mem.h"
#include "web/reply.h"
#include "web/router.h"

static char session[ID_MAX];
static char prefix[64];

/* ---- small answers */

static int
greeting(struct call *c, struct err *e)
{
	static const char TEXT[] = "Hello from a Sandlease session.\n";

	(void)e;
	call_reply_bytes(c, 200, "text/plain; charset=utf-8", TEXT,
	    sizeof(TEXT) - 1);
	return 0;
}

static int
ping(struct call *c, struct err *e)
{
	(void)e;
	return reply_container(c,
	    json_pack("{s:s, s:s}", "status", "healthy", "message", "pong"));
}

static int
version(struct call *c, struct err *e)
{
	(void)e;
	return reply_container(c,
	    json_pack("{s:s}", "version", PACKAGE_VERSION));
}

static int
commands(struct call *c, struct err *e)
{
	auto_path_list struct path_list list = { 0 };
	json_t *names = json_array();
	auto_free char **envp = NULL;
	int64_t seq;

	(void)e;
	envp = envset_envp(&seq);
	path_list_read(envset_find(envp, "PATH"), &list);
	for (size_t i = 0; i < list.count; i++)
		json_array_append_new(names, json_string(list.name[i]));
	return reply_container(c,
	    json_pack("{s:o, s:I}", "availableCommands", names, "count",
		(json_int_t)list.count));
}

/* In the column `access`: the call stays open as long as its client wants. */
enum { STREAM = 1 };
/* In the column `hold`: it runs a command, and refuses an Idempotency-Key. */
enum { RUNS = 1 };

/* Members of bodies.  The SDK's `origin`, which says who asks, is ignored. */
#define EXECUTION "executionId,onDisconnect"
#define COMMAND "command,sessionId,timeoutMs,cwd,env,origin,shell," EXECUTION
#define PORT "port,mode,path,statusMin,statusMax,interval,processId"

/* clang-format off */
static const struct route ROUTES[] = {
	{ "GET",    "/",                        0,      greeting             },
	{ "GET",    "/api/ping",                0,      ping                 },
	{ "GET",    "/api/version",             0,      version              },
	{ "GET",    "/api/commands",            0,      commands             },
	{ "POST",   "/api/session/create",      0,      api_session_create, .fields = "id,env,cwd,commandTimeoutMs" },
	{ "GET",    "/api/session/list",        0,      api_session_list     },
	{ "POST",   "/api/session/delete",      0,      api_session_delete, .fields = "sessionId" },
	{ "POST",   "/api/execute",             0,      api_execute, .fields = COMMAND ",background" },
	{ "POST",   "/api/execute/stream",      STREAM, api_execute_stream, .hold = RUNS, .fields = COMMAND ",background,encoding" },
	{ "GET",    "/api/executions",          0,      api_execution_list },
	{ "DELETE", "/api/executions/:id",      0,      api_execution_cancel },
	{ "GET",    "/api/attempts/:id/stream", STREAM, api_attempt_stream   },
	{ "POST",   "/api/process/start",       0,      api_process_start, .hold = RUNS, .fields = "command,sessionId,origin,processId,timeoutMs,env,cwd,encoding,autoCleanup,stdin" },
	{ "GET",    "/api/process/list",        0,      api_process_list     },
	{ "DELETE", "/api/process/kill-all",    0,      api_process_kill_all },
	{ "POST",   "/api/process/cleanup",     0,      api_process_cleanup  },
	{ "GET",    "/api/process/:id",         0,      api_process_get      },
	{ "DELETE", "/api/process/:id",         0,      api_process_kill     },
	{ "GET",    "/api/process/:id/logs",    0,      api_process_logs     },
	{ "GET",    "/api/process/:id/stream",  STREAM, api_process_stream   },
	{ "POST",   "/api/process/:id/input",   STREAM, api_process_input, .fields = "data,encoding,close" },
	{ "POST",   "/api/process/:id/signal",  0,      api_process_signal, .fields = "signal" },
	{ "POST",   "/api/mkdir",               0,      api_mkdir, .fields = "path,sessionId,recursive" },
	{ "POST",   "/api/write",               0,      api_write, .fields = "path,sessionId,content,encoding" },
	{ "POST",   "/api/read",                0,      api_read, .fields = "path,sessionId,encoding" },
	{ "POST",   "/api/read/stream",         STREAM, api_read_stream, .fields = "path,sessionId" },
	{ "POST",   "/api/delete",              0,      api_delete, .fields = "path,sessionId" },
	{ "POST",   "/api/rename",              0,      api_rename, .fields = "oldPath,newPath,sessionId" },
	{ "POST",   "/api/move",                0,      api_move, .fields = "sourcePath,destinationPath,sessionId" },
	{ "POST",   "/api/list-files",          0,      api_list_files, .fields = "path,sessionId,options,options.recursive,options.includeHidden,options.sessionId" },
	{ "POST",   "/api/exists",              0,      api_exists, .fields = "path,sessionId" },
	{ "POST",   "/api/port-check",          0,      api_port_check, .fields = PORT },
	{ "POST",   "/api/port-watch",          STREAM, api_port_watch, .fields = PORT },
	{ "POST",   "/api/git/checkout",        0,      api_git_checkout, .hold = RUNS, .fields = "repoUrl,sessionId,targetDir,branch,depth,timeoutMs," EXECUTION },
	{ "POST",   "/api/terminal",            0,      api_terminal_create, .fields = "sessionId,cols,rows,shell,cwd" },
	{ "GET",    "/api/terminal",            0,      api_terminal_list    },
	{ "GET",    "/api/terminal/:id",        0,      api_terminal_get     },
	{ "DELETE", "/api/terminal/:id",        0,      api_terminal_end     },
	{ "GET",    "/api/terminal/:id/stream", STREAM, api_terminal_stream  },
	{ "POST",   "/api/terminal/:id/input",  0,      api_terminal_input, .fields = "data,encoding" },
	{ "POST",   "/api/terminal/:id/resize", 0,      api_terminal_resize, .fields = "cols,rows" },
	{ "POST",   "/api/backup/create",       0,      api_backup_create, .fields = "dir,archivePath,gitignore,excludes,compression,compression.format,compression.threads,sessionId" },
	{ "POST",   "/api/backup/restore",      0,      api_backup_restore, .fields = "dir,archivePath,sessionId" },
	{ "POST",   "/api/backup/upload-parts", 0,      api_backup_upload_parts, .fields = "archivePath,parts,sessionId" },
	{ "GET",    "/api/interpreter/health",  0,      api_context_health   },
	{ "POST",   "/api/contexts",            0,      api_context_create, .fields = "language,cwd,env_vars" },
	{ "GET",    "/api/contexts",            0,      api_context_list     },
	{ "DELETE", "/api/contexts/:id",        0,      api_context_delete   },
	{ "POST",   "/api/execute/code",        STREAM, api_execute_code, .hold = RUNS, .fields = "code,context_id,language,timeout_ms,env_vars," EXECUTION },
	{ "POST",   "/api/watch",               STREAM, api_watch, .fields = "path,recursive,events,include,exclude,sessionId" },
	{ "POST",   "/api/watch/check",         0,      api_watch_check, .fields = "path,recursive,events,include,exclude,since,sessionId" },
	{ "GET",    "/files/*",                 STREAM, api_raw_get,         .query = "" },
	{ "PUT",    "/files/*",                 STREAM, api_raw_put,         .query = "mode" },
	{ "DELETE", "/files/*",                 0,      api_raw_delete,      .query = "recursive" },
	{ "GET",    "/archive/*",               STREAM, api_archive_get,     .query = "format" },
	{ "PUT",    "/archive/*",               STREAM, api_archive_put,     .query = "" },
};
/* clang-format on */

void
routes_open(const char *session_id)
{
	str_copy(session, sizeof(session), session_id);
	snprintf(prefix, sizeof(prefix), "/v1/sessions/%s", session_id);
}

/* The path after /v1/sessions/<id>, at least "/"; NULL: another session. */
static const char *
below_prefix(const char *path)
{
	size_t len = strlen(prefix);

	if (strncmp(path, prefix, len) != 0)
		return NULL;
	if (path[len] == '\0' || path[len] == '?')
		return "/";
	return path[len] == '/' ? path + len : NULL;
}

/*
 * nginx chose this session by its normalised path, in which dots are resolved.
 * The raw URI must name the same session, and the same first segment.
 */
static bool
raw_uri_agrees(const char *raw, const char *path)
{
	const char *below = below_prefix(raw);
	size_t len = 1 + strcspn(path + 1, "/");

	if (below == NULL)
		return false;
	below += strspn(below, "/") - 1;
	return strncmp(below, path, len) == 0 &&
	    len == 1 + strcspn(below + 1, "/?");
}

static int
handle_stream(const struct route *r, struct call *c, struct err *e)
{
	static atomic_int open;
	int rc;

	if (atomic_fetch_add(&open, 1) < SERVE_STREAMS_MAX && !serve_is_alone())
		rc = r->handle(c, e);
	else if (serve_is_alone())
		rc = err_set(e, ERR_LIMITED, CODE_TOO_MANY_STREAMS,
		    "the session's processes leave no room for a stream; end some of them");
	else
		rc = err_set(e, ERR_LIMITED, CODE_TOO_MANY_STREAMS,
		    "the session has %d open streams; end some of their commands",
		    SERVE_STREAMS_MAX);
	atomic_fetch_sub(&open, 1);
	return rc;
}

/* The error names the unknown path, and a similar route if there is one. */
static int
refuse_unknown(const struct call *c, struct err *e)
{
	const struct route *r = NULL;

	if (strlen(c->path) > strlen("/api/"))
		r = router_nearest(ROUTES, ARRAY_LEN(ROUTES), c->path);
	if (r == NULL)
		return err_set(e, ERR_NOT_FOUND, CODE_UNKNOWN_ERROR,
		    "The requested endpoint was not found: %s %.100s",
		    c->method, c->path + 1);
	return err_set(e, ERR_NOT_FOUND, CODE_UNKNOWN_ERROR,
	    "The requested endpoint was not found: %s %.100s; is it %s?",
	    c->method, c->path + 1, r->pattern + 1);
}

static int
find_and_call(struct call *c, struct err *e)
{
	const char *path = below_prefix(c->path);
	const struct route *r;

	if (path == NULL ||
	    !raw_uri_agrees(call_param(c, "REQUEST_URI"), path) ||
	    !str_equal(call_param(c, "SL_SESSION"), session))
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the request is not for this session");
	c->path = path;
	r = router_match(ROUTES, ARRAY_LEN(ROUTES), c, e);
	if (r == NULL)
		return e->kind == ERR_NOT_FOUND ? refuse_unknown(c, e) : -1;
	/* routes of SDKs are not checked: SDKs add parameters of their own */
	if (r->query != NULL && router_check_query(r, c, e) < 0)
		return -1;
	if (r->hold == RUNS && call_param(c, "HTTP_IDEMPOTENCY_KEY")[0] != '\0')
		return err_field(e, "Idempotency-Key",
		    "is supported by api/execute only");
	((struct api_request *)c->context)->fields = r->fields;
	return r->access == STREAM ? handle_stream(r, c, e) : r->handle(c, e);
}

void
routes_handle(struct call *c)
{
	struct api_request s = { 0 };
	struct err e = { 0 };

	c->context = &s;
	log_context(c->request_id, session);
	activity_probe(str_equal(call_param(c, "SL_PROBE"), "1"));
	activity_serve();
	limits_view_refresh();
	if (find_and_call(c, &e) < 0 && c->status == 0) {
		/* if the session is ending, that is the error */
		if (!session_end_explain(&e) && err_status(&e) >= 500)
			log_err(LOG_INFO, "call_failed", &e);
		call_skip_body(c, REQUEST_SKIP_MAX);
		reply_container_error(c, &e, s.context);
	}
	activity_touch();
	json_decref(s.context);
	json_decref(s.ignored);
	log_line(LOG_DEBUG, "call", "%s %.200s %d", c->method, c->path,
	    c->status);
}
