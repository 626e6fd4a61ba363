/* giturl.c: fuzzes addresses of repositories: a secret in one stays hidden. */
#include <string.h>

#include "agent/git/url.h"
#include "common/mem.h"
#include "fuzz.h"

enum { SECRET_MIN = 4 };

/* A short text, or only asterisks, could be in the masked address by chance. */
static bool
is_secret(const char *s)
{
	return strlen(s) >= SECRET_MIN && strspn(s, "*") < strlen(s);
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	auto_free struct git_url *u = xcalloc(1, sizeof(*u));
	auto_free char *text = xcalloc(1, len + 1);
	auto_buf struct buf shown = { 0 };
	char name[GIT_NAME_MAX];
	struct err e = { 0 };

	for (size_t i = 0, n = 0; i < len; i++)
		if (data[i] != '\0')
			text[n++] = (char)data[i];
	if (git_url_read(text, u, &e) < 0)
		return 0;
	PROMISE(text[0] != '-' && strncmp(text, "ext::", 5) != 0);
	git_url_name(u, name);
	PROMISE(strchr(name, '/') == NULL && strcmp(name, "..") != 0);
	buf_str(&shown, "");
	git_url_redact(u, text, strlen(text), &shown);
	PROMISE(
	    !is_secret(u->password) || strstr(shown.data, u->password) == NULL);
	return 0;
}
