/* request.c: fuzzes requests of a session's client: path, query and body. */
#include <string.h>

#include "agent/api/request.h"
#include "common/mem.h"
#include "fuzz.h"
#include "web/router.h"

enum { BODY_MAX = 65536 };

static int
nothing(struct call *c, struct err *e)
{
	(void)c, (void)e;
	return 0;
}

static const struct route ROUTES[] = {
	{ "GET", "/", 0, nothing },
	{ "POST", "/api/execute", 0, nothing },
	{ "GET", "/api/process/:id", 0, nothing },
	{ "GET", "/api/process/:id/logs", 0, nothing },
	{ "DELETE", "/api/exposed-ports/:port", 0, nothing },
};

static void
look_at_body(struct call *c, const json_t *body)
{
	char shell[SHELL_NAME_MAX];
	const char *text;
	struct err e = { 0 };

	if (request_text(body, "path", 1, 4096, &text, &e) == 0)
		PROMISE(strlen(text) >= 1 && strlen(text) <= 4096);
	if (request_shell(c, body, shell, &e) == 0)
		PROMISE(strlen(shell) > 0);
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	struct api_request s = { 0 };
	struct fuzz_call f;
	struct err e = { 0 };
	auto_json json_t *body = NULL;
	char value[64];
	bool present;

	fuzz_call_make(&f, data, len);
	f.call.context = &s;
	if (router_match(ROUTES, ARRAY_LEN(ROUTES), &f.call, &e) != NULL)
		PROMISE(f.call.var_count <= CALL_VARS_MAX);
	if (call_query(&f.call, "offset", value, sizeof(value), &present, &e) ==
	    0)
		PROMISE(!present || strlen(value) < sizeof(value));
	if (request_body(&f.call, BODY_MAX, &body, &e) == 0) {
		PROMISE(json_is_object(body));
		look_at_body(&f.call, body);
	}
	json_decref(s.context);
	call_release(&f.call);
	return 0;
}
