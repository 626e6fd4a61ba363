/* execution.c: reads the options that every route for commands has. */
#include "agent/run/execution.h"

#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"

static const char ID_CHARS[] = "abcdefghijklmnopqrstuvwxyz"
			       "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";

enum on_disconnect { CONTINUE, KILL };
static const char *const ON_DISCONNECT[] = { "continue", "kill", NULL };

struct execution_body {
	char id[INTERRUPT_ID_MAX];
	int on_disconnect;
};

static const struct jfield FIELDS[] = {
	JFIELD("executionId", struct execution_body, id, J_STR, 0, 1,
	    INTERRUPT_ID_MAX - 1, "id by which the command can be ended"),
	JFIELD_ENUM("onDisconnect", struct execution_body, on_disconnect, 0,
	    ON_DISCONNECT,
	    "what happens to the command when its client disconnects"),
};

/* The name of the first of FIELDS that the body has; NULL: none. */
static const char *
first_given(const json_t *body)
{
	for (size_t i = 0; i < ARRAY_LEN(FIELDS); i++)
		if (json_object_get(body, FIELDS[i].name) != NULL)
			return FIELDS[i].name;
	return NULL;
}

int
execution_read(struct call *c, const json_t *body, const char *route,
    struct execution *out, struct err *e)
{
	struct execution_body s = { .on_disconnect = CONTINUE };

	if (jfield_decode(body, FIELDS, ARRAY_LEN(FIELDS), J_LENIENT, &s, e) <
	    0)
		return -1;
	if (str_empty(s.id))
		id_random(s.id, ID_REQUEST_LEN);
	else if (!str_made_of(s.id, ID_CHARS, 1, sizeof(s.id) - 1))
		return err_field(e, "executionId",
		    "must be made of letters, digits, '-', '_' and '.'");
	*out = (struct execution){ .route = route,
		.chosen = first_given(body) != NULL,
		.client = s.on_disconnect == KILL ? call_fd(c) : 0 };
	str_copy(out->id, sizeof(out->id), s.id);
	return 0;
}

void
execution_tell(struct call *c, const struct execution *x)
{
	call_header(c, "X-Execution-Id", x->id);
}

int
execution_refuse(const json_t *body, const char *why, struct err *e)
{
	const char *name = first_given(body);

	return name != NULL ? err_field(e, name, "%s", why) : 0;
}
