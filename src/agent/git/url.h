/*
 * url.h: where a repository is, and what of that nobody may read.
 *
 * A name and a password in the URL, or a token in its query, are the caller's
 * secret: they are in no answer, no error and no log.  Those of http go to git
 * by its credential protocol, so that the process list has none either.  Pure.
 */
#ifndef SANDLEASE_AGENT_GIT_URL_H
#define SANDLEASE_AGENT_GIT_URL_H

#include <stddef.h>

#include "common/err.h"
#include "common/str.h"

enum { GIT_URL_MAX = 2049, GIT_NAME_MAX = 256 };

/* Rather large: on the heap, please. */
struct git_url {
	char given[GIT_URL_MAX];
	char plain[GIT_URL_MAX];  /* what git is told: http without a user */
	char origin[GIT_URL_MAX]; /* http://host:port of those, else "" */
	char user[GIT_URL_MAX];   /* decoded; "" where plain is all of it */
	char password[GIT_URL_MAX];
};

/*
 * http, https, ssh, git, file, host:path and paths; anything else, and what
 * could be taken for an option, is ERR_INVALID "invalid_git_url".
 */
int git_url_read(const char *text, struct git_url *out, struct err *e)
    MUST_CHECK;

/* What a directory for it is called: its last name, without .git. */
void git_url_name(const struct git_url *u, char out[GIT_NAME_MAX]);

/* Appends text without the URL's secrets, whichever way they are written. */
void git_url_redact(const struct git_url *u, const char *text, size_t len,
    struct buf *to);

/* Appends "user:password@", encoded, as plain lacks it; nothing if none. */
void git_url_userinfo(const struct git_url *u, struct buf *to);

#endif
