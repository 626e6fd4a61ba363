/* config.c: where the service is, and with which key. */
#include "cli/config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"

enum { FILE_MAX = 16 * 1024 };

/* ---- the file */

static char *
trim(char *s)
{
	size_t len;

	s += strspn(s, " \t\r");
	len = strlen(s);
	while (len > 0 && strchr(" \t\r", s[len - 1]) != NULL)
		len--;
	s[len] = '\0';
	return s;
}

static int
take_line(const char *name, int number, char *line, struct config *c,
    struct err *e)
{
	char *equals = strchr(line, '='), **to;

	if (line[0] == '\0' || line[0] == '#')
		return 0;
	if (equals == NULL)
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "%.150s:%d: a line is \"url = ...\" or \"api_key = ...\"",
		    name, number);
	*equals = '\0';
	line = trim(line);
	if (str_equal(line, "url"))
		to = &c->url;
	else if (str_equal(line, "api_key"))
		to = &c->key;
	else
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "%.150s:%d: \"%.40s\" is neither url nor api_key", name,
		    number, line);
	free(*to);
	*to = xstrdup(trim(equals + 1));
	return 0;
}

int
config_parse(const char *name, char *text, struct config *c, struct err *e)
{
	int number = 0;

	for (char *line = text, *next; line != NULL; line = next) {
		next = strchr(line, '\n');
		if (next != NULL)
			*next++ = '\0';
		if (take_line(name, ++number, trim(line), c, e) < 0)
			return -1;
	}
	return 0;
}

/* The caller frees it; NULL when there is no home. */
static char *
file_name(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	auto_free char *name = NULL;
	struct stat st;

	if (!str_empty(xdg))
		name = xasprintf("%s/sandlease", xdg);
	else if (!str_empty(home))
		name = xasprintf("%s/.config/sandlease", home);
	if (name != NULL && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return xasprintf("%s/config", name);
	return TAKE(name);
}

static int
read_file(const char *name, struct config *c, struct err *e)
{
	auto_fd int fd = open(name, O_RDONLY | O_CLOEXEC);
	auto_free char *text = xcalloc(1, FILE_MAX + 1);
	struct stat st;
	ssize_t n;
	int rc;

	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%.150s", name);
	n = read(fd, text, FILE_MAX);
	if (n < 0)
		return err_errno(e, "%.150s", name);
	rc = config_parse(name, text, c, e);
	token_wipe(text, (size_t)n);
	if (rc == 0 && c->key != NULL && (st.st_mode & 077) != 0)
		fprintf(stderr,
		    "sandlease: warning: others may read the key in %s; chmod 600 it\n",
		    name);
	return rc;
}

/* ---- all of it */

static void
drop_slashes(char *url)
{
	size_t len = strlen(url);

	while (len > 0 && url[len - 1] == '/')
		url[--len] = '\0';
}

static void
replace(char **to, const char *value)
{
	if (str_empty(value))
		return;
	free(*to);
	*to = xstrdup(value);
}

static int
check(const struct config *c, const char *file, struct err *e)
{
	if (str_empty(c->url))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "no service is known: set SANDLEASE_URL, or put \"url = ...\" into %.120s",
		    file != NULL ? file : "~/.config/sandlease");
	if (!str_starts(c->url, "http://") && !str_starts(c->url, "https://"))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "\"%.100s\" must begin with https:// or http://", c->url);
	if (str_empty(c->key))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "no key for %.60s is known: set SANDLEASE_API_KEY, or put \"api_key = ...\" into %.100s (the key of a file is for the url of that file)",
		    c->url, file != NULL ? file : "~/.config/sandlease");
	for (const char *s = c->key; *s != '\0'; s++)
		if (*s <= ' ' || *s > '~')
			return err_set(e, ERR_INVALID, CODE_CONFIG,
			    "the API key has characters that no key has");
	return 0;
}

int
config_load(const char *url, struct config *c, struct err *e)
{
	auto_free char *file = file_name();
	auto_free char *file_url = NULL;

	*c = (struct config){ 0 };
	if (file != NULL && read_file(file, c, e) < 0)
		return -1;
	if (c->url != NULL) {
		drop_slashes(c->url);
		file_url = xstrdup(c->url);
	}
	replace(&c->url, getenv("SANDLEASE_URL"));
	replace(&c->url, url);
	if (c->url != NULL)
		drop_slashes(c->url);
	if (file_url != NULL && c->key != NULL && !str_equal(file_url, c->url))
		c->key[0] = '\0';
	replace(&c->key, getenv("SANDLEASE_API_KEY"));
	return check(c, file, e);
}

void
config_free(struct config *c)
{
	if (c->key != NULL)
		token_wipe(c->key, strlen(c->key));
	free(c->key);
	free(c->url);
	*c = (struct config){ 0 };
}
