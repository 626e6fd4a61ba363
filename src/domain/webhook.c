/* webhook.c: checks URLs and events of webhooks. */
#include "domain/webhook.h"

#include <string.h>

#include "common/str.h"

const char *const WEBHOOK_EVENTS[] = { "execution.finished", "session.failed",
	NULL };

static bool
is_event(const char *s)
{
	for (size_t i = 0; WEBHOOK_EVENTS[i] != NULL; i++)
		if (str_equal(s, WEBHOOK_EVENTS[i]))
			return true;
	return false;
}

int
webhook_events_check(const json_t *events, struct err *e)
{
	for (size_t i = 0; i < json_array_size(events); i++) {
		const char *s = json_string_value(json_array_get(events, i));

		if (s == NULL || !is_event(s))
			return err_field(e, "events",
			    "must hold execution.finished, session.failed or both; element %zu is neither",
			    i);
	}
	return 0;
}

json_t *
webhook_events_all(void)
{
	json_t *all = json_array();

	for (size_t i = 0; WEBHOOK_EVENTS[i] != NULL; i++)
		json_array_append_new(all, json_string(WEBHOOK_EVENTS[i]));
	return all;
}

/* Characters that some parsers of URLs change, or read in ways of their own. */
static bool
has_odd_character(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~' || strchr("\"\\<>^`{|}", *s) != NULL)
			return true;
	return false;
}

/* Splits "host", "host:port" or "[v6]:port"; *port is "" if there is none. */
static bool
split_authority(const char *text, size_t len, const char **host,
    size_t *host_len, const char **port, size_t *port_len)
{
	const char *end = text + len, *colon;

	*host = text;
	if (len > 0 && text[0] == '[') {
		const char *close = memchr(text, ']', len);

		if (close == NULL)
			return false;
		*host = text + 1;
		*host_len = (size_t)(close - *host);
		colon = close + 1;
	} else {
		colon = memchr(text, ':', len);
		colon = colon != NULL ? colon : end;
		*host_len = (size_t)(colon - text);
	}
	if (colon < end && (*colon != ':' || colon + 1 == end))
		return false;
	*port = colon < end ? colon + 1 : end;
	*port_len = (size_t)(end - *port);
	return true;
}

static bool
is_port(const char *text, size_t len)
{
	char copy[8] = "";
	int64_t n;

	if (len == 0)
		return true;
	if (len >= sizeof(copy))
		return false;
	memcpy(copy, text, len);
	return str_to_int(copy, 1, UINT16_MAX, &n);
}

int
webhook_url_check(const char *url, char host[NETWORK_HOST_MAX], struct err *e)
{
	const char *at, *name, *port;
	size_t len, name_len, port_len;

	if (strlen(url) >= WEBHOOK_URL_MAX)
		return err_field(e, "url", "must have at most %d characters",
		    WEBHOOK_URL_MAX - 1);
	if (!str_starts(url, "http://") && !str_starts(url, "https://"))
		return err_field(e, "url",
		    "must begin with https:// or http://");
	if (has_odd_character(url))
		return err_field(e, "url",
		    "must be of printable ASCII; encode other characters as %%XX");
	at = strstr(url, "://") + strlen("://");
	len = strcspn(at, "/?#");
	if (memchr(at, '@', len) != NULL)
		return err_field(e, "url",
		    "must have no user or password; put a token into the path");
	if (strchr(at, '#') != NULL)
		return err_field(e, "url", "must have no fragment (#)");
	if (!split_authority(at, len, &name, &name_len, &port, &port_len) ||
	    !network_host(name, name_len, host) ||
	    (strchr(host, ':') != NULL) != (at[0] == '['))
		return err_field(e, "url", "must name a host or an IP address");
	if (!is_port(port, port_len))
		return err_field(e, "url", "must have a port from 1 to 65535");
	return 0;
}
