/* site.c: checks whether previews and dashboard are one site to a browser. */
#include "api/serve/site.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include <libpsl.h>

#include "common/mem.h"
#include "common/str.h"

/* The host of a URL, in lower case; "": there is none. */
static char *
host_of(const char *url)
{
	const char *host = strstr(url, "://");
	char *out;

	if (host == NULL)
		return xstrdup("");
	host += strlen("://");
	out = xasprintf("%.*s",
	    (int)(host[0] == '[' ? strcspn(host, "]") : strcspn(host, ":/")),
	    host);
	for (char *c = out; *c != '\0'; c++)
		if (*c >= 'A' && *c <= 'Z')
			*c = (char)(*c - 'A' + 'a');
	return out;
}

/* An IP address has no registrable domain: each is a site of its own. */
static bool
is_ip_address(const char *host)
{
	struct in_addr a;

	return host[0] == '[' || inet_pton(AF_INET, host, &a) == 1;
}

bool
site_is_shared(const char *url, const char *other, bool below,
    char site[SITE_MAX])
{
	auto_free char *mine = host_of(url), *host = host_of(other),
		       *theirs = NULL;
	const char *a, *b;
	psl_ctx_t *list;
	bool shared;

	if (str_empty(mine) || str_empty(host))
		return false;
	if (is_ip_address(mine) || is_ip_address(host))
		return str_copy(site, SITE_MAX, mine) && str_equal(mine, host);
	theirs = below ? xasprintf("x.%s", host) : xstrdup(host);
	list = psl_latest(NULL);
	a = psl_registrable_domain(list, mine);
	b = psl_registrable_domain(list, theirs);
	/* without a registrable domain a host is a site by itself */
	a = a != NULL ? a : mine;
	b = b != NULL ? b : theirs;
	shared = str_equal(a, b) && str_copy(site, SITE_MAX, a);
	psl_free(list);
	return shared;
}

static void
warn(const char *what, const char *site, FILE *to)
{
	fprintf(to,
	    "sandlease-api: warning: %s is on the dashboard's site, %s: pages of "
	    "previews can set cookies for the dashboard; give them a domain of "
	    "their own\n",
	    what, site);
}

void
site_warn(const struct conf *conf, FILE *to)
{
	char site[SITE_MAX];

	if (site_is_shared(conf->public_url, conf->preview_base, true, site))
		warn("preview_base", site, to);
	if (site_is_shared(conf->public_url, conf->preview_path_base, false,
		site))
		warn("preview_path_base", site, to);
}
