/* aliases.c: sets and frees the correlation keys of a session. */
#include "api/app.h"
#include "api/v1/handlers.h"
#include "api/v1/keys_body.h"
#include "api/v1/session_body.h"
#include "api/v1/session_json.h"
#include "common/mem.h"

struct aliases_body {
	const json_t *keys;
};

/* clang-format off */
const struct jfield ALIASES_FIELDS[] = {
	JFIELD("keys", struct aliases_body, keys, J_ARR, J_REQUIRED | J_OF_STRINGS, 0, KEYS_SESSION_MAX, "all keys that shall find this session; none frees them"),
};
/* clang-format on */
const size_t ALIASES_FIELD_COUNT = ARRAY_LEN(ALIASES_FIELDS);

static int
reply_changed(struct call *c, struct control *ctl, const char *id,
    struct err *e)
{
	auto_json json_t *s = NULL;

	if (session_json_read(c, ctl, id, &s, e) < 0)
		return -1;
	call_reply(c, 200, s);
	return 0;
}

int
v1_aliases_put(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id");
	auto_json json_t *json = NULL;
	struct aliases_body b = { 0 };

	if (ctl == NULL || call_json(c, BODY_MAX, &json, e) < 0 ||
	    jfield_decode(json, ALIASES_FIELDS, ALIASES_FIELD_COUNT, 0, &b, e) <
		0 ||
	    keys_check(b.keys, "keys", e) < 0 ||
	    session_control_set_keys(ctl, id, app_of(c)->who.tenant, b.keys,
		NULL, e) < 0)
		return -1;
	return reply_changed(c, ctl, id, e);
}

int
v1_aliases_delete(struct call *c, struct err *e)
{
	struct control *ctl = app_control(c, e);
	const char *id = call_var(c, "id");
	auto_json json_t *none = json_array();
	char key[CORRELATION_KEY_MAX + 1];
	bool one;

	if (ctl == NULL || call_query(c, "key", key, sizeof(key), &one, e) < 0)
		return -1;
	if (one && !correlation_is_key(key))
		return err_field(e, "key",
		    "must be a printable string of 1 to 255 bytes");
	if (session_control_set_keys(ctl, id, app_of(c)->who.tenant,
		one ? NULL : none, one ? key : NULL, e) < 0)
		return -1;
	return reply_changed(c, ctl, id, e);
}
