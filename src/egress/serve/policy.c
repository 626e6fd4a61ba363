/* policy.c: decides which hosts a session may reach, and has its secrets. */
#include <stdlib.h>
#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "egress/serve/serve.h"

/* ---- policies */

bool
policy_allows(const struct session *s, const char *host, uint16_t port)
{
	for (size_t i = 0; i < s->policy_count; i++)
		if (!network_allows(&s->policies[i], host, port))
			return false;
	return s->policy_count > 0;
}

bool
policy_allows_host(const struct session *s, const char *host)
{
	for (size_t i = 0; i < s->policy_count; i++)
		if (!network_allows_host(&s->policies[i], host))
			return false;
	return s->policy_count > 0;
}

/* The session's own is the first one. */
enum denial
policy_denial(const struct session *s, const char *host, uint16_t port)
{
	const struct network_policy *own = &s->policies[0];

	return s->policy_count > 1 &&
		(port > 0 ? network_allows(own, host, port)
			  : network_allows_host(own, host))
	    ? DENY_CLASS
	    : DENY_NOT_ALLOWED;
}

bool
policy_is_strict(const struct session *s)
{
	for (size_t i = 0; i < s->policy_count; i++)
		if (s->policies[i].mode != NETWORK_OPEN)
			return true;
	return s->policy_count == 0;
}

static void
forget_policies(struct session *s)
{
	for (size_t i = 0; i < s->policy_count; i++)
		network_policy_free(&s->policies[i]);
	s->policy_count = 0;
	s->limited = false;
}

/*
 * Gives the names of a list their stand-ins, so that an address which a program
 * has kept means the same name after a restart of egress.
 */
static void
keep_standins(struct session *s, const struct network_policy *p)
{
	for (size_t i = 0; i < p->count; i++)
		if (!p->rules[i].below && !network_is_address(p->rules[i].host))
			(void)standin_of(&s->standins, p->rules[i].host);
}

/* A policy that cannot be read allows nothing. */
static void
read_policies(struct session *s, const json_t *list)
{
	struct err e = { 0 };
	size_t i;
	json_t *v;

	forget_policies(s);
	json_array_foreach(list, i, v)
	{
		struct network_policy *p = &s->policies[s->policy_count];

		if (i == SERVE_POLICIES_MAX ||
		    network_policy_decode(v, p, &e) < 0) {
			log_line(LOG_ERROR, "policy",
			    "session %s: a policy cannot be read: %s", s->id,
			    e.msg);
			forget_policies(s);
			return;
		}
		s->policy_count++;
		keep_standins(s, p);
		s->limited = s->limited || p->max_requests > 0;
	}
}

/* ---- secrets */

static void
forget_secrets(struct session *s)
{
	for (size_t i = 0; i < s->secret_count; i++) {
		struct secret *x = &s->secrets[i];

		token_wipe(x->value, strlen(x->value));
		free(x->host);
		free(x->header);
		free(x->value);
	}
	free(TAKE(s->secrets));
	s->secret_count = 0;
}

static void
read_secrets(struct session *s, const json_t *list)
{
	size_t i;
	json_t *v;

	forget_secrets(s);
	s->secrets = xcalloc(json_array_size(list) + 1, sizeof(*s->secrets));
	json_array_foreach(list, i, v)
	{
		s->secrets[i] = (struct secret){ .host = xstrdup(
						     json_str(v, "host")),
			.header = xstrdup(json_str(v, "header")),
			.value = xstrdup(json_str(v, "value")),
			.plain = json_is_true(json_object_get(v, "plain")) };
		s->secret_count++;
	}
}

bool
policy_has_secret(const struct session *s, const char *host)
{
	for (size_t i = 0; i < s->secret_count; i++)
		if (str_equal(s->secrets[i].host, host))
			return true;
	return false;
}

bool
policy_checks_name(const struct session *s, const char *host)
{
	return policy_is_strict(s) || policy_has_secret(s, host);
}

void
policy_read(struct session *s, const json_t *body)
{
	read_policies(s, json_object_get(body, "policies"));
	read_secrets(s, json_object_get(body, "secrets"));
}

void
policy_forget(struct session *s)
{
	forget_policies(s);
	forget_secrets(s);
}
