/* network_spec.c: reads and writes a network policy in the operator's form. */
#include "admin/network_spec.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"

json_t *
network_spec_split(const char *text)
{
	json_t *list = json_array();

	for (;;) {
		size_t len = strcspn(text, ",");
		auto_free char *entry = xasprintf("%.*s", (int)len, text);

		json_array_append_new(list, json_lossy(entry));
		if (text[len] == '\0')
			return list;
		text += len + 1;
	}
}

/*
 * Words that look like hosts, but are meant as something else: as a host each
 * would allow nothing.
 */
static bool
is_no_host(const char *text)
{
	return str_equal(text, "default") || str_equal(text, "all") ||
	    str_equal(text, NETWORK_MODE_NAMES[NETWORK_ALLOW]);
}

int
network_spec_read(const char *option, const char *text, json_t **out,
    struct err *e)
{
	auto_json json_t *policy = json_object();
	char msg[ERR_MSG_MAX];

	if (str_equal(text, NETWORK_MODE_NAMES[NETWORK_NONE]) ||
	    str_equal(text, NETWORK_MODE_NAMES[NETWORK_OPEN]))
		json_object_set_new(policy, "mode", json_string(text));
	else
		json_object_set_new(policy, "allow", network_spec_split(text));
	if (is_no_host(text))
		err_set(e, ERR_INVALID, CODE_USAGE, "\"%s\" is not a host",
		    text);
	else if (network_check(policy, "network", out, e) == 0)
		return 0;
	str_copy(msg, sizeof(msg), e->msg);
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "%s: %s; give none, open, or hosts and @presets with commas between them",
	    option, msg);
}

int
network_spec_read_or_default(const char *option, const char *text, json_t **out,
    struct err *e)
{
	if (!str_equal(text, "default"))
		return network_spec_read(option, text, out, e);
	*out = json_null();
	return 0;
}

char *
network_spec_text(const json_t *policy)
{
	const json_t *allow = json_object_get(policy, "allow");
	const json_t *most = json_object_get(policy, "maxRequests");
	auto_buf struct buf text = { 0 };
	size_t i;
	json_t *v;

	if (json_array_size(allow) == 0)
		buf_str(&text, json_str(policy, "mode"));
	json_array_foreach(allow, i, v)
	{
		buf_fmt(&text, "%s%s", i > 0 ? "," : "", json_string_value(v));
	}
	if (json_is_integer(most))
		buf_fmt(&text, " maxRequests=%lld",
		    (long long)json_integer_value(most));
	return TAKE(text.data);
}
