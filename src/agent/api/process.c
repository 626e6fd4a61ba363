/*
 * process.c: starts, lists, signals and ends background processes
 * (api/process/...).  Their input and output are in process_input.c and
 * process_logs.c.
 */
#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "agent/api/request.h"
#include "agent/api/routes.h"
#include "agent/process/process.h"
#include "agent/shell/envset.h"
#include "common/clock.h"
#include "common/mem.h"
#include "web/reply.h"

enum {
	BODY_MAX = 1024 * 1024,
	TIMEOUT_MS_MAX = 24 * 60 * 60 * 1000,
	ENCODING_MAX = 32,
	SIGNAL_NAME_MAX = 16,
	SIGNALS = 31 /* the signals that have names */
};

static void
release_held(struct process **p)
{
	if (*p != NULL)
		process_release(*p);
}

#define auto_process __attribute__((cleanup(release_held)))

int
api_process_find(struct call *c, struct process **out, struct err *e)
{
	const char *id = call_var(c, "id");

	request_context(c, json_pack("{s:o}", "processId", json_lossy(id)));
	return process_find(id, out, e);
}

/* ---- starting */

int
api_process_launch(struct call *c, const struct process_options *w,
    struct err *e)
{
	auto_process struct process *p = NULL;
	auto_json json_t *seen = NULL;
	json_t *body;

	if (process_start(w, &p, e) < 0)
		return -1;
	seen = process_json(p);
	body = json_pack("{s:s, s:s, s:s}", "processId", process_id(p),
	    "command", w->exec.command, "sessionId", w->exec.shell);
	if (json_object_get(seen, "pid") != NULL)
		json_object_set(body, "pid", json_object_get(seen, "pid"));
	return reply_container(c, body);
}

struct options {
	int64_t timeout_ms;
	int auto_cleanup, input;
	char cwd[SHELL_PATH_MAX];
	char id[PROCESS_ID_MAX];
	char encoding[ENCODING_MAX];
	const json_t *env;
};

/* The SDK sends `encoding`, which is ignored: output is always UTF-8. */
static const struct jfield OPTIONS[] = {
	JFIELD("processId", struct options, id, J_STR, 0, 1, PROCESS_ID_MAX - 1,
	    "id of the process"),
	JFIELD("timeoutMs", struct options, timeout_ms, J_INT, 0, 0,
	    TIMEOUT_MS_MAX, "kills it after this time"),
	JFIELD("env", struct options, env, J_OBJ, 0, 0, ENV_COUNT_MAX,
	    "variables in addition to the shell's"),
	JFIELD("cwd", struct options, cwd, J_STR, 0, 1, SHELL_PATH_MAX - 1,
	    "directory; if absent the shell's"),
	JFIELD("encoding", struct options, encoding, J_STR, 0, 1,
	    ENCODING_MAX - 1, "of the output"),
	JFIELD("autoCleanup", struct options, auto_cleanup, J_BOOL, 0, 0, 1,
	    "removes it soon after its end"),
	JFIELD("stdin", struct options, input, J_BOOL, 0, 0, 1,
	    "false: it has no input"),
};

static bool
is_blank(const char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	return *s == '\0';
}

/* The id is a segment of a path, and must not be the name of a route. */
static int
check_id(const char *id, struct err *e)
{
	static const char *const ROUTES[] = { "start", "list", "cleanup",
		"kill-all" };

	if (!process_store_is_id(id))
		return err_field(e, "processId",
		    "must consist of letters, digits and any of -_.:@+");
	for (size_t i = 0; i < ARRAY_LEN(ROUTES); i++)
		if (str_equal(id, ROUTES[i]))
			return err_field(e, "processId", "is a reserved name");
	return 0;
}

int
api_process_start(struct call *c, struct err *e)
{
	auto_json json_t *body = NULL;
	struct options o = { .input = 1 };
	struct process_options w = { 0 };
	const json_t *v;

	if (request_body(c, BODY_MAX, &body, e) < 0)
		return -1;
	v = json_object_get(body, "command");
	if (v == NULL || (json_is_string(v) && is_blank(json_string_value(v))))
		return err_set(e, ERR_INVALID, CODE_INVALID_COMMAND,
		    "Command must not be empty");
	if (request_text(body, "command", 1, BODY_MAX, &w.exec.command, e) < 0)
		return -1;
	request_context(c, json_pack("{s:s}", "command", w.exec.command));
	if (jfield_decode(body, OPTIONS, ARRAY_LEN(OPTIONS), J_LENIENT, &o, e) <
		0 ||
	    envset_check(o.env, "env", e) < 0 ||
	    request_shell(c, body, w.exec.shell, e) < 0 ||
	    (o.id[0] != '\0' && check_id(o.id, e) < 0))
		return -1;
	w.exec.env = o.env;
	w.exec.timeout_ms = o.timeout_ms;
	str_copy(w.exec.cwd, sizeof(w.exec.cwd), o.cwd);
	w.id = o.id[0] != '\0' ? o.id : NULL;
	w.auto_cleanup = o.auto_cleanup == 1;
	w.no_input = o.input == 0;
	return api_process_launch(c, &w, e);
}

/* ---- listing */

static bool
is_status(const char *s)
{
	for (int i = 0; PROCESS_STATUS_NAMES[i] != NULL; i++)
		if (str_equal(PROCESS_STATUS_NAMES[i], s))
			return true;
	return str_equal(s, "starting"); /* of the SDK; never used here */
}

/* Writes one process at a time, because one JSON value could be large. */
static void
write_process(struct call *c, struct process *p, const char *status,
    bool *first)
{
	auto_json json_t *o = process_json(p);
	auto_free char *text = NULL;

	if (status[0] != '\0' && !str_equal(json_str(o, "status"), status))
		return;
	text = json_text(o);
	if (!*first)
		call_write(c, ",", 1);
	*first = false;
	call_write(c, text, strlen(text));
}

int
api_process_list(struct call *c, struct err *e)
{
	static const char HEAD[] = "{\"success\":true,\"processes\":[";
	auto_buf struct buf tail = { 0 };
	char status[16] = "", at[CLOCK_ISO_MAX];
	bool present, first = true;
	auto_free struct process **all = NULL;
	size_t count;

	if (call_query(c, "status", status, sizeof(status), &present, e) < 0)
		return -1;
	if (status[0] != '\0' && !is_status(status))
		return err_field(e, "status", "is not a status of a process");
	all = process_all(&count);
	call_begin(c, 200, "application/json");
	call_write(c, HEAD, sizeof(HEAD) - 1);
	for (size_t i = 0; i < count; i++) {
		write_process(c, all[i], status, &first);
		process_release(all[i]);
	}
	clock_iso(at);
	buf_fmt(&tail, "],\"timestamp\":\"%s\"}", at);
	call_write(c, tail.data, tail.len);
	return 0;
}

int
api_process_get(struct call *c, struct err *e)
{
	auto_process struct process *p = NULL;

	if (api_process_find(c, &p, e) < 0)
		return -1;
	return reply_container(c,
	    json_pack("{s:o}", "process", process_json(p)));
}

/* ---- ending */

int
api_process_kill(struct call *c, struct err *e)
{
	auto_process struct process *p = NULL;

	if (api_process_find(c, &p, e) < 0 || process_kill(p, e) < 0)
		return -1;
	return reply_container(c,
	    json_pack("{s:s}", "processId", process_id(p)));
}

int
api_process_kill_all(struct call *c, struct err *e)
{
	(void)e;
	return reply_container(c,
	    json_pack("{s:I}", "cleanedCount",
		(json_int_t)process_kill_all(NULL)));
}

int
api_process_cleanup(struct call *c, struct err *e)
{
	(void)e;
	return reply_container(c,
	    json_pack("{s:I}", "cleanedCount", (json_int_t)process_cleanup()));
}

/* ---- signals, which the SDK does not have */

/* The number of "SIGINT" or "INT"; 0: unknown. */
static int
signal_of(const char *name)
{
	if (str_starts(name, "SIG"))
		name += 3;
	for (int i = 1; i <= SIGNALS; i++)
		if (sigabbrev_np(i) != NULL && str_equal(sigabbrev_np(i), name))
			return i;
	return 0;
}

int
api_process_signal(struct call *c, struct err *e)
{
	auto_process struct process *p = NULL;
	auto_json json_t *body = NULL;
	const char *name;
	int sig;

	if (api_process_find(c, &p, e) < 0 ||
	    request_body(c, BODY_MAX, &body, e) < 0 ||
	    request_text(body, "signal", 1, SIGNAL_NAME_MAX, &name, e) < 0)
		return -1;
	sig = signal_of(name);
	if (sig == 0)
		return err_field(e, "signal", "is not the name of a signal");
	if (process_signal(p, sig, e) < 0)
		return -1;
	return reply_container(c,
	    json_pack("{s:s, s:s}", "processId", process_id(p), "signal",
		name));
}
