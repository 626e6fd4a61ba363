/* err.c: makes errors, and maps their kinds to HTTP. */
#include "common/err.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/utf8.h"

struct kind {
	int status;
	bool retryable;
	int retry_after_seconds;
	const char *title;
};

/* clang-format off */
static const struct kind KINDS[] = {
	[ERR_NONE]            = { 500, false, 0, "Internal Server Error" },
	[ERR_INVALID]         = { 400, false, 0, "Bad Request" },
	[ERR_UNAUTHENTICATED] = { 401, false, 0, "Unauthorized" },
	[ERR_DENIED]          = { 403, false, 0, "Forbidden" },
	[ERR_NOT_FOUND]       = { 404, false, 0, "Not Found" },
	[ERR_METHOD]          = { 405, false, 0, "Method Not Allowed" },
	[ERR_CONFLICT]        = { 409, false, 0, "Conflict" },
	[ERR_BUSY]            = { 409, true,  1, "Conflict" },
	[ERR_GONE]            = { 410, false, 0, "Gone" },
	[ERR_PRECONDITION]    = { 412, false, 0, "Precondition Failed" },
	[ERR_RANGE]           = { 416, false, 0, "Range Not Satisfiable" },
	[ERR_TOO_LARGE]       = { 413, false, 0, "Content Too Large" },
	[ERR_LIMITED]         = { 429, true,  5, "Too Many Requests" },
	[ERR_INTERNAL]        = { 500, false, 0, "Internal Server Error" },
	[ERR_UNSUPPORTED]     = { 501, false, 0, "Not Implemented" },
	[ERR_BAD_GATEWAY]     = { 502, false, 0, "Bad Gateway" },
	[ERR_UNAVAILABLE]     = { 503, true,  1, "Service Unavailable" },
	[ERR_NO_SPACE]        = { 507, true, 60, "Insufficient Storage" },
};
/* clang-format on */
_Static_assert(ARRAY_LEN(KINDS) == ERR__MAX, "every kind has a row");

/*
 * Replaces bytes that are not UTF-8 by '?'.  JSON and the database refuse such
 * bytes, but a path may hold any byte, and a message may be cut in the middle
 * of a character.
 */
static void
replace_invalid_utf8(char *s)
{
	while (*s != '\0') {
		int n = utf8_sequence(s, UTF8_LEN_MAX);

		if (n <= 0)
			*s = '?';
		s += n > 0 ? n : 1;
	}
}

static void
format_message(struct err *e, const char *fmt, va_list ap)
{
	vsnprintf(e->msg, sizeof(e->msg), fmt, ap);
	replace_invalid_utf8(e->msg);
}

int
err_set(struct err *e, enum err_kind kind, enum err_code code, const char *fmt,
    ...)
{
	va_list ap;

	e->kind = kind;
	e->code = code;
	e->field[0] = '\0';
	e->more[0] = '\0';
	va_start(ap, fmt);
	format_message(e, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_field(struct err *e, const char *field, const char *fmt, ...)
{
	va_list ap;

	e->kind = ERR_INVALID;
	e->code = CODE_VALIDATION_FAILED;
	e->more[0] = '\0';
	snprintf(e->field, sizeof(e->field), "%s", field);
	replace_invalid_utf8(e->field);
	va_start(ap, fmt);
	format_message(e, fmt, ap);
	va_end(ap);
	return -1;
}

int
err_below(struct err *e, const char *field)
{
	char member[ERR_FIELD_MAX];

	snprintf(member, sizeof(member), "%s", e->field);
	snprintf(e->field, sizeof(e->field), "%.20s%s%.40s", field,
	    member[0] != '\0' ? "." : "", member);
	return -1;
}

int
err_errno(struct err *e, const char *fmt, ...)
{
	int saved = errno;
	va_list ap;
	size_t len;

	e->kind = ERR_INTERNAL;
	e->code = CODE_INTERNAL;
	if (saved == ENOSPC || saved == EDQUOT) {
		e->kind = ERR_NO_SPACE;
		e->code = CODE_NO_SPACE_LEFT;
	}
	e->field[0] = '\0';
	e->more[0] = '\0';
	va_start(ap, fmt);
	format_message(e, fmt, ap);
	va_end(ap);
	len = strlen(e->msg);
	snprintf(e->msg + len, sizeof(e->msg) - len, ": %s", strerror(saved));
	errno = saved;
	return -1;
}

int
err_wrap(struct err *e, const char *fmt, ...)
{
	char inner[ERR_MSG_MAX];
	va_list ap;
	size_t len;

	memcpy(inner, e->msg, sizeof(inner));
	va_start(ap, fmt);
	format_message(e, fmt, ap);
	va_end(ap);
	len = strlen(e->msg);
	snprintf(e->msg + len, sizeof(e->msg) - len, ": %.*s",
	    (int)(sizeof(inner) - 1), inner);
	replace_invalid_utf8(e->msg);
	return -1;
}

/* ---- the text for tenants */

enum { HOST_PATHS_MAX = 16 };

static char *host_paths[HOST_PATHS_MAX]; /* never freed */
static size_t host_path_count;

void
err_host_path(const char *path)
{
	/* "/" would also hide messages that name a path of the tenant */
	if (strlen(path) > 1 && host_path_count < HOST_PATHS_MAX)
		host_paths[host_path_count++] = xstrdup(path);
}

bool
err_names_host(const char *text)
{
	for (size_t i = 0; i < host_path_count; i++)
		if (strstr(text, host_paths[i]) != NULL)
			return true;
	return false;
}

/* A tenant gets these texts in place of messages with these codes. */
static const struct {
	enum err_code code;
	const char *told;
} FOR_OPERATORS[] = {
	{ CODE_INTERNAL,
	    "something went wrong on this host; the operator's log says why" },
	{ CODE_NO_SPACE_LEFT, "there is no room left on this host" },
	{ CODE_DATABASE_UNAVAILABLE, "the database cannot be reached" },
	{ CODE_TRANSACTION_POOLING,
	    "the database cannot be used now; the operator's log says why" },
	{ CODE_HOST_NOT_READY,
	    "this host cannot run sandboxes now; the operator's log says why" },
	{ CODE_NO_ROOTFS,
	    "this host cannot run sandboxes of this class now; the operator's log says why" },
};

const char *
err_told(const struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(FOR_OPERATORS); i++)
		if (FOR_OPERATORS[i].code == e->code)
			return FOR_OPERATORS[i].told;
	/* err_errno() made it for a full disk; callers may change the code */
	if (e->kind == ERR_NO_SPACE &&
	    (strstr(e->msg, strerror(ENOSPC)) != NULL ||
		strstr(e->msg, strerror(EDQUOT)) != NULL ||
		err_names_host(e->msg)))
		return "there is no room left on this host";
	return err_names_host(e->msg) ? FOR_OPERATORS[0].told : e->msg;
}

int
err_status(const struct err *e)
{
	return KINDS[e->kind].status;
}

const char *
err_title(const struct err *e)
{
	return KINDS[e->kind].title;
}

bool
err_retryable(const struct err *e)
{
	return KINDS[e->kind].retryable;
}

int
err_retry_after_seconds(const struct err *e)
{
	return KINDS[e->kind].retry_after_seconds;
}
