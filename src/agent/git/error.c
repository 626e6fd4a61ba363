/* error.c: maps the error output of git to our error codes. */
#include "agent/git/error.h"

#include <ctype.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"

static const char MISSING[] = "Repository not found";
static const char NO_BRANCH[] = "Branch not found";
static const char NO_ACCESS[] = "Authentication failed";
static const char NETWORK[] = "Network error";
static const char BAD_URL[] = "Invalid repository URL";
static const char FAILED[] = "Git clone failed";

/*
 * The first row whose text is in the output counts.  Errors of the session come
 * before errors of the remote, and special texts before general ones: for a
 * missing branch git says "not found", too.
 */
/* clang-format off */
static const struct git_error ERRORS[] = {
	{ "already exists and is not an empty",   ERR_CONFLICT,        CODE_GIT_CLONE_FAILED,         "Target directory is not empty" },
	{ "could not create work tree dir",       ERR_INTERNAL,        CODE_GIT_CLONE_FAILED,         FAILED },
	{ "could not create leading directories", ERR_INTERNAL,        CODE_GIT_CLONE_FAILED,         FAILED },
	{ "no space left on device",              ERR_INTERNAL,        CODE_GIT_CLONE_FAILED,         FAILED },
	{ "git: command not found",               ERR_INTERNAL,        CODE_GIT_OPERATION_FAILED,     "git is not installed in the session" },
	{ "' not allowed",                        ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "unable to find remote helper",         ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "is not supported",                     ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "no path specified",                    ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "strange hostname",                     ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "strange pathname",                     ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "illegal format",                       ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "malformed",                            ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "url has no scheme",                    ERR_INVALID,         CODE_INVALID_GIT_URL,          BAD_URL },
	{ "not found in upstream",                ERR_NOT_FOUND,       CODE_GIT_BRANCH_NOT_FOUND,     NO_BRANCH },
	{ "could not find remote branch",         ERR_NOT_FOUND,       CODE_GIT_BRANCH_NOT_FOUND,     NO_BRANCH },
	{ "pathspec",                             ERR_NOT_FOUND,       CODE_GIT_BRANCH_NOT_FOUND,     NO_BRANCH },
	{ "repository not found",                 ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "authentication failed",                ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "could not read username",              ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "could not read password",              ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "invalid credentials",                  ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "access denied",                        ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "permission denied (",                  ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "host key verification failed",         ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "returned error: 401",                  ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "returned error: 403",                  ERR_UNAUTHENTICATED, CODE_GIT_AUTH_FAILED,          NO_ACCESS },
	{ "returned error: 404",                  ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "returned error: 410",                  ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "could not resolve host",               ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "unable to look up",                    ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "connect to",                           ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "connection refused",                   ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "connection reset",                     ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "timed out",                            ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "network is unreachable",               ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "no route to host",                     ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "unable to access",                     ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "rpc failed",                           ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "does not appear to be a git",          ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "is this a git repository",             ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "not a git repository",                 ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "does not exist",                       ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "not found",                            ERR_NOT_FOUND,       CODE_GIT_REPOSITORY_NOT_FOUND, MISSING },
	{ "hung up unexpectedly",                 ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "early eof",                            ERR_BAD_GATEWAY,     CODE_GIT_NETWORK_ERROR,        NETWORK },
	{ "",                                     ERR_INTERNAL,        CODE_GIT_CLONE_FAILED,         FAILED },
};
/* clang-format on */

/* The closing quote of a name that is quoted at s; NULL: none is. */
static const char *
quoted_end(const char *text, const char *s, const char *end)
{
	const char *q = s + 1;

	if (*s != '\'' || (s > text && isalnum((unsigned char)s[-1])))
		return NULL; /* an apostrophe, as in "couldn't" */
	while (q < end && *q != '\n' &&
	    !(*q == '\'' && (q + 1 == end || !isalnum((unsigned char)q[1]))))
		q++;
	return q < end && *q == '\'' ? q : NULL;
}

/*
 * Appends the text in lower case, with '' for each quoted name: a repository
 * may have a name that looks like an error message.
 */
static void
simplify(const char *text, size_t len, struct buf *to)
{
	const char *end = text + len;

	for (const char *s = text; s < end; s++) {
		const char *q = quoted_end(text, s, end);
		char c = (char)tolower((unsigned char)*s);

		if (q != NULL) {
			buf_str(to, "''");
			s = q;
		} else if (c != '\0') {
			buf_add(to, &c, 1);
		}
	}
	buf_add(to, "", 1);
}

const struct git_error *
git_error_find(const char *text, size_t len)
{
	auto_buf struct buf simple = { 0 };
	const struct git_error *r = ERRORS;

	simplify(text, len, &simple);
	while (strstr(simple.data, r->said) == NULL)
		r++; /* ends at the last row: "" is in every text */
	return r;
}

static size_t
line_len(const char *s, const char *end)
{
	const char *nl = memchr(s, '\n', (size_t)(end - s));

	return (size_t)((nl != NULL ? nl : end) - s);
}

const char *
git_error_line(const char *text, size_t size, size_t *len)
{
	static const char FATAL[] = "fatal: ";
	const char *end = text + size, *last = text;
	size_t n;

	*len = 0;
	for (const char *s = text; s < end; s += n + 1) {
		n = line_len(s, end);
		if (n == 0)
			continue;
		last = s;
		*len = n;
		if (n > sizeof(FATAL) &&
		    memcmp(s, FATAL, sizeof(FATAL) - 1) == 0)
			break;
	}
	return last;
}
