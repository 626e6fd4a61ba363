/* config.c: finds the service's URL and the API key for it. */
#include "cli/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/config_file.h"
#include "common/mem.h"
#include "common/token.h"

enum { PROFILE_MAX = 64 };

/* ---- the file */

static char *
trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\r\n");
	len = strlen(s);
	while (len > 0 && strchr(" \t\r\n", s[len - 1]) != NULL)
		len--;
	s[len] = '\0';
	return s;
}

/* The place in the file that is being parsed. */
struct reading {
	const char *name;
	int number;  /* of the line */
	bool inside; /* the line belongs to the profile that is wanted */
};

static int
bad_line(const struct reading *r, const char *what, const char *why,
    struct err *e)
{
	return err_set(e, ERR_INVALID, CODE_CONFIG, "%.150s:%d: %.40s%s",
	    r->name, r->number, what, why);
}

static int
parse_line(struct reading *r, char *line, struct config *c, struct err *e)
{
	char *equals = strchr(line, '='), **to;
	size_t len = strlen(line);

	if (line[0] == '\0' || line[0] == '#')
		return 0;
	if (line[0] == '[' && line[len - 1] == ']') {
		line[len - 1] = '\0';
		if (!config_profile_is_good(line + 1))
			return bad_line(r, "",
			    "a profile's name has letters, digits, '.', '_' and '-'",
			    e);
		r->inside = str_equal(line + 1, c->profile);
		c->known = c->known || r->inside;
		return 0;
	}
	if (equals == NULL)
		return bad_line(r, "",
		    "a line is \"url = ...\", \"api_key = ...\" or \"[PROFILE]\"",
		    e);
	*equals = '\0';
	line = trim(line);
	if (str_equal(line, "url"))
		to = &c->url;
	else if (str_equal(line, "api_key"))
		to = &c->key;
	else
		return bad_line(r, line, " is neither url nor api_key", e);
	if (!r->inside)
		return 0;
	free(*to);
	*to = xstrdup(trim(equals + 1));
	return 0;
}

int
config_parse(const char *name, char *text, struct config *c, struct err *e)
{
	struct reading r = { .name = name };

	if (c->profile == NULL)
		c->profile = xstrdup(CONFIG_DEFAULT);
	c->known = r.inside = str_equal(c->profile, CONFIG_DEFAULT);
	for (char *line = text, *next; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		r.number++;
		if (parse_line(&r, trim(line), c, e) < 0)
			return -1;
	}
	return 0;
}

static int
read_file(const char *name, struct config *c, struct err *e)
{
	auto_buf struct buf text = { 0 };
	struct stat st;
	int rc;

	if (config_file_read(name, &text, &st, e) < 0)
		return -1;
	rc = config_parse(name, text.data, c, e);
	token_wipe(text.data, text.len);
	if (rc == 0 && c->key != NULL && (st.st_mode & 077) != 0)
		fprintf(stderr,
		    "sandlease: warning: others may read the key in %s; chmod 600 it\n",
		    name);
	return rc;
}

static int
read_key_file(const char *name, struct config *c, struct err *e)
{
	auto_buf struct buf text = { 0 };
	struct stat st;

	if (config_file_read(name, &text, &st, e) < 0)
		return -1;
	free(c->key);
	c->key = xstrdup(trim(text.data));
	token_wipe(text.data, text.len);
	if (c->key[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "there is no key in %.150s", name);
	return 0;
}

/* ---- command line, environment and file together */

bool
config_profile_is_good(const char *profile)
{
	return str_made_of(profile,
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
	    1, PROFILE_MAX);
}

bool
config_key_is_bad(const char *key)
{
	for (; *key != '\0'; key++)
		if (*key <= ' ' || *key > '~')
			return true;
	return false;
}

void
config_trim_url(char *url)
{
	size_t len = strlen(url);

	for (int i = 0; i < 2; i++) {
		while (len > 0 && url[len - 1] == '/')
			url[--len] = '\0';
		/* "/v1" begins the paths of the API: accept a URL with it */
		if (len > 3 && str_equal(url + len - 3, "/v1"))
			url[len -= 3] = '\0';
	}
}

static void
replace_text(char **to, const char *value)
{
	if (str_empty(value))
		return;
	free(*to);
	*to = xstrdup(value);
}

static int
check_url(const struct config *c, struct err *e)
{
	if (str_empty(c->url))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "no service is known: \"sandlease login URL\" stores one, or set SANDLEASE_URL");
	if (!str_starts(c->url, "http://") && !str_starts(c->url, "https://"))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "\"%.100s\" must begin with https:// or http://", c->url);
	return 0;
}

static int
check_key(const struct config *c, struct err *e)
{
	if (str_empty(c->key))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "no key for %.100s is known: \"sandlease login %.60s\" stores one, or set SANDLEASE_API_KEY (the key of a profile is for the url of that profile)",
		    c->url, c->url);
	if (config_key_is_bad(c->key))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "the API key is not valid: it has characters that are not printable ASCII");
	return 0;
}

static int
read_profile(const struct config_choice *w, struct config *c, struct err *e)
{
	auto_free char *file = config_file_name();
	const char *named =
	    w->profile != NULL ? w->profile : getenv("SANDLEASE_PROFILE");

	c->profile = xstrdup(str_empty(named) ? CONFIG_DEFAULT : named);
	c->known = str_equal(c->profile, CONFIG_DEFAULT);
	if (!config_profile_is_good(c->profile))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "a profile's name has letters, digits, '.', '_' and '-', not \"%.60s\"",
		    c->profile);
	return file != NULL ? read_file(file, c, e) : 0;
}

/* Reads command line, environment and file into *c, without checks. */
static int
merge_sources(const struct config_choice *w, struct config *c, struct err *e)
{
	auto_free char *file_url = NULL;

	*c = (struct config){ 0 };
	if (read_profile(w, c, e) < 0)
		return -1;
	if (c->url != NULL) {
		config_trim_url(c->url);
		file_url = xstrdup(c->url);
	}
	/* --profile counts more than SANDLEASE_URL and SANDLEASE_API_KEY */
	if (w->profile == NULL)
		replace_text(&c->url, getenv("SANDLEASE_URL"));
	replace_text(&c->url, w->url);
	if (c->url != NULL)
		config_trim_url(c->url);
	/* the key of a profile must not go to another service */
	if (file_url != NULL && c->key != NULL && !str_equal(file_url, c->url))
		c->key[0] = '\0';
	if (w->profile == NULL)
		replace_text(&c->key, getenv("SANDLEASE_API_KEY"));
	return w->key_file != NULL ? read_key_file(w->key_file, c, e) : 0;
}

int
config_load_url(const struct config_choice *w, struct config *c, struct err *e)
{
	return merge_sources(w, c, e) < 0 ? -1 : check_url(c, e);
}

int
config_load(const struct config_choice *w, struct config *c, struct err *e)
{
	if (merge_sources(w, c, e) < 0)
		return -1;
	if (!c->known)
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "there is no profile \"%.60s\": sandlease login --profile %.60s creates it",
		    c->profile, c->profile);
	return check_url(c, e) < 0 ? -1 : check_key(c, e);
}

void
config_free(struct config *c)
{
	if (c->key != NULL)
		token_wipe(c->key, strlen(c->key));
	free(c->key);
	free(c->url);
	free(c->profile);
	*c = (struct config){ 0 };
}
