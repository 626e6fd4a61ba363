/* pairs.c: turns options of the form KEY=VALUE into a JSON object. */
#include "cli/pairs.h"

#include <string.h>

#include "common/mem.h"

static int
add_pair(json_t *object, const char *option, const char *pair, struct err *e)
{
	const char *equals = strchr(pair, '=');
	auto_free char *key = NULL;

	if (equals == NULL || equals == pair)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--%s takes KEY=VALUE, not \"%.60s\"", option, pair);
	key = xstrdup(pair);
	key[equals - pair] = '\0';
	if (json_object_set_new(object, key, json_string(equals + 1)) < 0)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--%s %.60s: only UTF-8 can be sent", option, key);
	return 0;
}

int
pairs_add(const struct args *a, const char *option, json_t *body,
    const char *field, struct err *e)
{
	auto_json json_t *object = json_object();
	const char *pair;

	for (size_t i = 0; (pair = args_nth(a, option, i)) != NULL; i++)
		if (add_pair(object, option, pair, e) < 0)
			return -1;
	if (json_object_size(object) > 0)
		json_object_set(body, field, object);
	return 0;
}
