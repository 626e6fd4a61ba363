/* router.c: finds the route of a call in a table. */
#include "web/router.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "common/mem.h"
#include "common/nearest.h"
#include "common/str.h"

struct match {
	const char *name, *value; /* not terminated: see the lengths */
	size_t name_len, value_len;
};

/* True when path fits pattern; `m` points to the variables in both. */
static bool
fits(const char *pattern, const char *path, struct match *m, size_t *count)
{
	*count = 0;
	while (*pattern != '\0') {
		if (*pattern == '*')
			return true;
		if (*pattern == ':') {
			size_t name_len = strcspn(++pattern, "/");
			size_t len = strcspn(path, "/");

			if (len == 0 || len >= CALL_VAR_MAX ||
			    *count == CALL_VARS_MAX)
				return false;
			m[*count] =
			    (struct match){ pattern, path, name_len, len };
			(*count)++;
			pattern += name_len;
			path += len;
			continue;
		}
		if (*pattern++ != *path++)
			return false;
	}
	return *path == '\0';
}

static void
copy_vars(struct call *c, const struct match *m, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		memcpy(c->vars[i].name, m[i].name, m[i].name_len);
		c->vars[i].name[m[i].name_len] = '\0';
		memcpy(c->vars[i].value, m[i].value, m[i].value_len);
		c->vars[i].value[m[i].value_len] = '\0';
	}
	c->var_count = count;
}

const struct route *
router_match(const struct route *routes, size_t count, struct call *c,
    struct err *e)
{
	auto_buf struct buf allow = { 0 };
	const char *method = c->method;

	if (str_equal(method, "HEAD"))
		method = "GET";
	for (size_t i = 0; i < count; i++) {
		struct match m[CALL_VARS_MAX];
		size_t n;

		if (!fits(routes[i].pattern, c->path, m, &n))
			continue;
		if (str_equal(routes[i].method, method)) {
			copy_vars(c, m, n);
			return &routes[i];
		}
		buf_fmt(&allow, "%s%s", allow.len > 0 ? ", " : "",
		    routes[i].method);
	}
	if (allow.len == 0) {
		err_set(e, ERR_NOT_FOUND, CODE_NOT_FOUND,
		    "there is no such route");
		return NULL;
	}
	call_header(c, "Allow", allow.data);
	err_set(e, ERR_METHOD, CODE_METHOD_NOT_ALLOWED, "this path supports %s",
	    allow.data);
	return NULL;
}

/* Returns the first segment of *path, which begins with a slash; skips it. */
static char *
next_segment(const char **path)
{
	size_t len = strcspn(++*path, "/");
	char *segment = xasprintf("%.*s", (int)len, *path);

	*path += len;
	return segment;
}

/*
 * How many letters of the path must change to fit the pattern; SIZE_MAX if a
 * segment is not similar to the pattern's.
 */
static size_t
count_slips(const char *pattern, const char *path)
{
	size_t sum = 0;

	while (*pattern == '/' && *path == '/') {
		auto_free char *want = next_segment(&pattern);
		auto_free char *have = next_segment(&path);

		if (want[0] == '*')
			return sum;
		if (want[0] == ':')
			continue;
		if (!nearest_is_close(have, want))
			return SIZE_MAX;
		sum += nearest_distance(have, want);
	}
	return *pattern == '\0' && *path == '\0' ? sum : SIZE_MAX;
}

const struct route *
router_nearest(const struct route *routes, size_t count, const char *path)
{
	const struct route *best = NULL;
	size_t least = SIZE_MAX;

	for (size_t i = 0; i < count; i++)
		if (str_starts(routes[i].pattern, path))
			return &routes[i];
	for (size_t i = 0; i < count; i++) {
		size_t slips = count_slips(routes[i].pattern, path);

		if (slips < least) {
			least = slips;
			best = &routes[i];
		}
	}
	return best;
}

/* True when `name` is one of `words`, which are separated by blanks. */
static bool
is_word_of(const char *words, const char *name)
{
	size_t len = strlen(name);

	while (*words != '\0') {
		size_t n = strcspn(words, " ");

		if (n == len && memcmp(words, name, len) == 0)
			return true;
		words += n;
		words += strspn(words, " ");
	}
	return false;
}

static int
check_parameter(const struct route *r, const struct call *c, const char *name,
    bool has_value, struct err *e)
{
	const char *known = r->query != NULL ? r->query : "";
	size_t times = 0, want = strlen(name);

	if (name[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "the query has a parameter without a name");
	if (!is_word_of(known, name) && known[0] == '\0')
		return err_field(e, name,
		    "is not a query parameter of this route, which has none");
	if (!is_word_of(known, name))
		return err_field(e, name,
		    "is not a query parameter of this route; it has: %s",
		    known);
	if (!has_value)
		return err_field(e, name, "needs a value: %s=...", name);
	for (const char *s = call_param(c, "QUERY_STRING"); s != NULL;
	     s = strchr(s, '&')) {
		s += *s == '&';
		times += strncmp(s, name, want) == 0 && s[want] == '=';
	}
	return times == 1 ? 0 : err_field(e, name, "is given more than once");
}

int
router_check_query(const struct route *r, const struct call *c, struct err *e)
{
	const char *s = call_param(c, "QUERY_STRING");

	while (*s != '\0') {
		size_t len = strcspn(s, "&"), name_len = strcspn(s, "=&");
		char name[ERR_FIELD_MAX];

		snprintf(name, sizeof(name), "%.*s",
		    (int)(name_len < sizeof(name) ? name_len
						  : sizeof(name) - 1),
		    s);
		if (len > 0 &&
		    check_parameter(r, c, name, name_len < len, e) < 0)
			return -1;
		s += len;
		s += *s == '&';
	}
	return 0;
}
