/* target.c: finds the file that a call names. */
#include "agent/api/target.h"

#include "agent/api/request.h"
#include "agent/shell/shell.h"
#include "common/clock.h"
#include "common/mem.h"

int
target_take(struct call *c, const json_t *body, const char *field,
    const char *operation, struct target *t, struct err *e)
{
	char shell[SHELL_NAME_MAX], cwd[SHELL_PATH_MAX];

	t->operation = operation;
	if (request_text(body, field, 1, FILES_PATH_MAX - 1, &t->path, e) < 0)
		return -1;
	request_context(c,
	    json_pack("{s:s, s:s}", "path", t->path, "operation", operation));
	if (request_shell(c, body, shell, e) < 0)
		return -1;
	shell_cwd(shell, cwd);
	if (files_resolve(cwd, t->path, t->where, e) == 0)
		return 0;
	str_copy(e->field, sizeof(e->field), field);
	return -1;
}

int
target_too_large(struct call *c, const struct target *t, int64_t max,
    int64_t actual, const struct err *e)
{
	if (e->code == CODE_FILE_TOO_LARGE)
		request_context(c,
		    json_pack("{s:s, s:s, s:I, s:I}", "path", t->path,
			"operation", t->operation, "maxSize", (json_int_t)max,
			"actualSize", (json_int_t)actual));
	return -1;
}

void
target_reply(struct call *c, const struct target *t, json_t *more)
{
	auto_json json_t *answer = NULL;
	auto_json json_t *owned = more;
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	answer = json_pack("{s:b, s:s, s:s}", "success", 1, "path", t->path,
	    "timestamp", at);
	if (owned != NULL)
		json_object_update(answer, owned);
	call_reply(c, 200, answer);
}
