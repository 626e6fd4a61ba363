/* secrets.c: checks headers that are added to requests for a host. */
#include "domain/secrets.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"

/* The characters of a token (RFC 9110, 5.6.2). */
#define TOKEN_CHARACTERS                                                       \
	"!#$%&'*+-.^_`|~0123456789"                                            \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

struct secret {
	char host[NETWORK_HOST_MAX + 1]; /* with a dot at its end */
	char header[SECRET_HEADER_MAX];
	char value[SECRET_VALUE_MAX];
	bool plain;
};

static const struct jfield FIELDS[] = {
	JFIELD("host", struct secret, host, J_STR, J_REQUIRED, 1,
	    NETWORK_HOST_MAX, "name of a host"),
	JFIELD("header", struct secret, header, J_STR, J_REQUIRED, 1,
	    SECRET_HEADER_MAX - 1, "name of a header"),
	JFIELD("value", struct secret, value, J_STR, J_REQUIRED, 1,
	    SECRET_VALUE_MAX - 1, "its value; never returned"),
	JFIELD("plain", struct secret, plain, J_BOOL, 0, 0, 0,
	    "also into requests without TLS"),
};

/*
 * These frame a message, belong to one connection, or say which host is meant.
 * A tenant who set them could smuggle a second request behind the first.
 */
static bool
is_reserved(const char *header)
{
	static const char *const NAMES[] = { "host", "content-length",
		"transfer-encoding", "connection", "keep-alive", "upgrade",
		"expect", "te", "trailer" };

	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++)
		if (strcasecmp(header, NAMES[i]) == 0)
			return true;
	return strncasecmp(header, "proxy-", 6) == 0;
}

static bool
has_controls(const char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < 0x20 || *s == 0x7f)
			return true;
	return false;
}

static int
check_secret(const struct secret *s, char host[NETWORK_HOST_MAX], struct err *e)
{
	if (!network_host(s->host, strlen(s->host), host))
		return err_field(e, "host",
		    "is not a host; write one name, such as api.example.com, without port, scheme or *");
	if (network_is_address(host))
		return err_field(e, "host", "is an address; write a name");
	if (!str_made_of(s->header, TOKEN_CHARACTERS, 1, SECRET_HEADER_MAX - 1))
		return err_field(e, "header", "is not the name of a header");
	if (is_reserved(s->header))
		return err_field(e, "header",
		    "%s belongs to the connection and cannot be set",
		    s->header);
	if (has_controls(s->value))
		return err_field(e, "value",
		    "must not contain control characters");
	return 0;
}

static bool
is_listed(const json_t *list, const char *host, const char *header)
{
	size_t i;
	json_t *v;

	json_array_foreach(list, i, v)
	{
		if (str_equal(json_str(v, "host"), host) &&
		    strcasecmp(json_str(v, "header"), header) == 0)
			return true;
	}
	return false;
}

static int
add_secret(const json_t *v, json_t *list, struct err *e)
{
	struct secret s = { 0 };
	char host[NETWORK_HOST_MAX];
	int rc;

	if (!json_is_object(v))
		return err_field(e, "", "must be an object");
	rc = jfield_decode(v, FIELDS, ARRAY_LEN(FIELDS), 0, &s, e);
	if (rc == 0)
		rc = check_secret(&s, host, e);
	if (rc == 0 && is_listed(list, host, s.header))
		rc = err_field(e, "header", "%s is given twice for %.80s",
		    s.header, host);
	if (rc == 0)
		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:s, s:o*}", "host", host, "header",
			s.header, "value", s.value, "plain",
			s.plain ? json_true() : NULL));
	explicit_bzero(&s, sizeof(s));
	return rc;
}

int
secrets_check(const json_t *body, const char *field, json_t **named,
    struct err *e)
{
	auto_json json_t *list = json_array();
	size_t i;
	json_t *v;

	if (!json_is_array(body))
		return err_field(e, field, "must be an array");
	if (json_array_size(body) > SECRETS_MAX)
		return err_field(e, field, "may have at most %d elements",
		    SECRETS_MAX);
	json_array_foreach(body, i, v)
	{
		if (add_secret(v, list, e) < 0) {
			char at[ERR_FIELD_MAX];

			snprintf(at, sizeof(at), "%.15s[%zu]", field, i);
			return err_below(e, at);
		}
	}
	if (named != NULL)
		*named = TAKE(list);
	return 0;
}

json_t *
secrets_names(const json_t *secrets)
{
	json_t *names = json_array(), *v;
	size_t i;

	json_array_foreach(secrets, i, v)
	{
		json_array_append_new(names,
		    json_pack("{s:s, s:s, s:O*}", "host", json_str(v, "host"),
			"header", json_str(v, "header"), "plain",
			json_object_get(v, "plain")));
	}
	return names;
}
