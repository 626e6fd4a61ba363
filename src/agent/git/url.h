/*
 * url.h: parses a repository's URL and hides its secrets.
 *
 * User and password in the URL, or a token in its query, are the caller's
 * secrets: no answer, error or log contains them.  For http git gets user and
 * password by its credential protocol, so that the process list does not show
 * them.  Pure.
 */
#ifndef SANDLEASE_AGENT_GIT_URL_H
#define SANDLEASE_AGENT_GIT_URL_H

#include <stddef.h>

#include "common/err.h"
#include "common/str.h"

enum { GIT_URL_MAX = 2049, GIT_NAME_MAX = 256 };

/* Too large for a stack: allocate it. */
struct git_url {
	char given[GIT_URL_MAX];  /* as the caller wrote it */
	char plain[GIT_URL_MAX];  /* for git: http without user and password */
	char origin[GIT_URL_MAX]; /* server for user and password, or "" */
	char user[GIT_URL_MAX];   /* decoded; "" if none was removed */
	char password[GIT_URL_MAX];
};

/*
 * Takes http, https, ssh, git, file, host:path and paths.  Anything else, and a
 * text that begins like an option, is ERR_INVALID "invalid_git_url".
 */
int git_url_read(const char *text, struct git_url *out, struct err *e)
    MUST_CHECK;

/* The default name of the directory: the URL's last part, without .git. */
void git_url_name(const struct git_url *u, char out[GIT_NAME_MAX]);

/* Appends `text` with ****** for the URL's secrets, also percent-encoded. */
void git_url_redact(const struct git_url *u, const char *text, size_t len,
    struct buf *to);

/* Appends the "user:password@" that u->plain lacks, percent-encoded. */
void git_url_userinfo(const struct git_url *u, struct buf *to);

#endif
