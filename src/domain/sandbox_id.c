/* sandbox_id.c: derives the id of the sandbox that a session lives in. */
#include "domain/sandbox_id.h"

#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"

enum { HASH_HEX_LEN = 48, PREFIX_LEN = 3 };

static const char *const PREFIXES[] = { "ses", "org", "usr", "bot", "ubt" };

static void
format_id(const char *prefix, const char *input, char out[SANDBOX_ID_MAX])
{
	char hex[TOKEN_HASH_HEX_MAX];

	token_sha256(input, hex);
	snprintf(out, SANDBOX_ID_MAX, "%s-%.*s", prefix, HASH_HEX_LEN, hex);
}

/* The text to hash for a shared sandbox: "<org>__<user>", then the bot. */
static char *
shared_input(const struct sandbox_owner *o)
{
	bool salted = !str_empty(o->salt), bot = !str_empty(o->bot);
	bool org = !str_empty(o->org);

	return xasprintf("%s%s%s%s__%s%s%s", salted ? o->salt : "",
	    salted ? ":" : "", org ? "" : "user:", org ? o->org : o->user,
	    o->user, bot ? "__bot:" : "", bot ? o->bot : "");
}

void
sandbox_id_derive(const struct sandbox_owner *o, bool isolated,
    char out[SANDBOX_ID_MAX])
{
	/* [has bot][has org] */
	static const char *const SHARED[2][2] = { { "usr", "org" },
		{ "ubt", "bot" } };
	auto_free char *input = NULL;

	if (isolated) {
		format_id("ses", o->session, out);
		return;
	}
	input = shared_input(o);
	format_id(SHARED[!str_empty(o->bot)][!str_empty(o->org)], input, out);
}

bool
sandbox_id_isolated_by_list(const char *list, const char *org)
{
	return str_list_has(list, "*") ||
	    (!str_empty(org) && str_list_has(list, org));
}

static bool
has_known_prefix(const char *id)
{
	for (size_t i = 0; i < ARRAY_LEN(PREFIXES); i++)
		if (str_starts(id, PREFIXES[i]) && id[PREFIX_LEN] == '-')
			return true;
	return false;
}

int
sandbox_id_check(const char *id, struct err *e)
{
	if (has_known_prefix(id) &&
	    str_made_of(id + PREFIX_LEN + 1, "0123456789abcdef", HASH_HEX_LEN,
		HASH_HEX_LEN))
		return 0;
	if (strstr(id, "__") != NULL && strlen(id) < SANDBOX_ID_MAX)
		return 0; /* legacy: stored without hashing */
	return err_set(e, ERR_INTERNAL, CODE_BAD_SANDBOX_ID,
	    "\"%.64s\" is not a sandbox id", id);
}

bool
sandbox_id_is_isolated(const char *id)
{
	return str_starts(id, "ses-");
}
