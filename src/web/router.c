/* router.c: routes are a table. */
#include "web/router.h"

#include <string.h>

#include "common/str.h"

struct match {
	const char *name, *value; /* not terminated: see the lengths */
	size_t name_len, value_len;
};

/* True when path fits pattern; vars are only noted, not copied. */
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
keep_vars(struct call *c, const struct match *m, size_t count)
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
			keep_vars(c, m, n);
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
	err_set(e, ERR_METHOD, CODE_METHOD_NOT_ALLOWED, "this path takes %s",
	    allow.data);
	return NULL;
}
