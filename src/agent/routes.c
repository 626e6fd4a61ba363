/* routes.c: the data plane of one session on one page. */
#include "agent/routes.h"

#include <stdio.h>
#include <string.h>

#include "agent/activity.h"
#include "agent/scene.h"
#include "common/clock.h"
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
	auto_json json_t *body = NULL;
	char at[CLOCK_ISO_MAX];

	(void)e;
	clock_iso(at);
	body = json_pack("{s:b, s:s, s:s, s:s}", "success", 1, "status",
	    "healthy", "message", "pong", "timestamp", at);
	call_reply(c, 200, body);
	return 0;
}

static int
version(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	char at[CLOCK_ISO_MAX];

	(void)e;
	clock_iso(at);
	body = json_pack("{s:b, s:s, s:s}", "success", 1, "version",
	    PACKAGE_VERSION, "timestamp", at);
	call_reply(c, 200, body);
	return 0;
}

/* clang-format off */
static const struct route ROUTES[] = {
	{ "GET",  "/",                   0, greeting           },
	{ "GET",  "/api/ping",           0, ping               },
	{ "GET",  "/api/version",        0, version            },
	{ "POST", "/api/session/create", 0, api_session_create },
	{ "GET",  "/api/session/list",   0, api_session_list   },
	{ "POST", "/api/session/delete", 0, api_session_delete },
	{ "POST", "/api/execute",        0, api_execute        },
	{ "POST", "/api/execute/stream", 0, api_execute_stream },
	{ "POST",   "/api/process/start",       0, api_process_start    },
	{ "GET",    "/api/process/list",        0, api_process_list     },
	{ "DELETE", "/api/process/kill-all",    0, api_process_kill_all },
	{ "POST",   "/api/process/cleanup",     0, api_process_cleanup  },
	{ "GET",    "/api/process/:id",         0, api_process_get      },
	{ "DELETE", "/api/process/:id",         0, api_process_kill     },
	{ "GET",    "/api/process/:id/logs",    0, api_process_logs     },
	{ "GET",    "/api/process/:id/stream",  0, api_process_stream   },
	{ "POST",   "/api/process/:id/input",   0, api_process_input    },
	{ "POST",   "/api/process/:id/signal",  0, api_process_signal   },
	{ "POST", "/api/write",          0, api_write          },
	{ "POST", "/api/read",           0, api_read           },
};
/* clang-format on */

void
routes_open(const char *session_id)
{
	str_copy(session, sizeof(session), session_id);
	snprintf(prefix, sizeof(prefix), "/v1/sessions/%s", session_id);
}

/* What follows our prefix, "/" for nothing; NULL when it is not ours. */
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

static int
dispatch(struct call *c, struct err *e)
{
	const char *path = below_prefix(c->path);
	const struct route *r;

	/* nginx has routed by its own reading; the raw one must agree */
	if (path == NULL ||
	    below_prefix(call_param(c, "REQUEST_URI")) == NULL ||
	    !str_equal(call_param(c, "SL_SESSION"), session))
		return err_set(e, ERR_INVALID, "validation_failed",
		    "the request is not for this session");
	c->path = path;
	r = router_match(ROUTES, ARRAY_LEN(ROUTES), c, e);
	if (r == NULL) {
		if (e->kind == ERR_NOT_FOUND)
			err_set(e, ERR_NOT_FOUND, "unknown_error",
			    "The requested endpoint was not found");
		return -1;
	}
	return r->handle(c, e);
}

static void
refuse(struct call *c, struct scene *s, struct err *e)
{
	if (e->field[0] != '\0') {
		auto_json json_t *one = json_pack("{s:s, s:s, s:s}", "field",
		    e->field, "message", e->msg, "code", "invalid");
		auto_json json_t *all = json_pack("[O]", one);

		if (s->context == NULL)
			s->context = json_object();
		json_object_set(s->context, "validationErrors", all);
		err_wrap(e, "%s", e->field);
	}
	if (err_status(e) >= 500)
		log_err(LOG_INFO, "call_failed", e);
	reply_container_error(c, e, s->context);
}

void
routes_handle(struct call *c)
{
	struct scene s = { 0 };
	struct err e = { 0 };

	c->context = &s;
	log_context(c->request_id, session);
	activity_probe(str_equal(call_param(c, "SL_PROBE"), "1"));
	activity_serve();
	if (dispatch(c, &e) < 0 && c->status == 0)
		refuse(c, &s, &e);
	activity_touch();
	json_decref(s.context);
	log_line(LOG_DEBUG, "call", "%s %.200s %d", c->method, c->path,
	    c->status);
}
