/* openapi.c: makes an OpenAPI 3.0 document of the route and field tables. */
#include "api/route/openapi.h"

#include <ctype.h>
#include <string.h>

#include "api/app.h"
#include "api/gate/access.h"
#include "common/mem.h"
#include "common/str.h"

static json_t *
names_schema(const struct jfield *f)
{
	json_t *names = json_array();

	for (size_t i = 0; f->names[i] != NULL; i++)
		json_array_append_new(names, json_string(f->names[i]));
	return json_pack("{s:s, s:o}", "type", "string", "enum", names);
}

static json_t *object_schema(const struct jfield *rows, size_t count);

static json_t *
field_schema(const struct jfield *f)
{
	json_t *s = NULL;

	switch (f->type) {
	case J_STR:
		s = json_pack("{s:s, s:I, s:I}", "type", "string", "minLength",
		    (json_int_t)f->min, "maxLength", (json_int_t)f->max);
		break;
	case J_INT:
		s = json_pack("{s:s, s:I, s:I}", "type", "integer", "minimum",
		    (json_int_t)f->min, "maximum", (json_int_t)f->max);
		break;
	case J_BOOL:
		s = json_pack("{s:s}", "type", "boolean");
		break;
	case J_ENUM:
		s = names_schema(f);
		break;
	case J_OBJ:
		s = f->members != NULL
		    ? object_schema(f->members, *f->member_count)
		    : json_pack("{s:s}", "type", "object");
		json_object_set_new(s, "maxProperties", json_integer(f->max));
		break;
	case J_ARR:
		s = json_pack("{s:s, s:I, s:{s:s}}", "type", "array",
		    "maxItems", (json_int_t)f->max, "items", "type",
		    (f->flags & J_OF_STRINGS) != 0 ? "string" : "object");
		break;
	case J__MAX:
		break;
	}
	if ((f->flags & J_NULLABLE) != 0)
		json_object_set_new(s, "nullable", json_true());
	json_object_set_new(s, "description", json_string(f->help));
	return s;
}

static json_t *
object_schema(const struct jfield *rows, size_t count)
{
	json_t *props = json_object(), *required = json_array();
	json_t *s;

	for (size_t i = 0; i < count; i++) {
		json_object_set_new(props, rows[i].name,
		    field_schema(&rows[i]));
		if ((rows[i].flags & J_REQUIRED) != 0)
			json_array_append_new(required,
			    json_string(rows[i].name));
	}
	s = json_pack("{s:s, s:b, s:o}", "type", "object",
	    "additionalProperties", 0, "properties", props);
	if (json_array_size(required) > 0)
		json_object_set(s, "required", required);
	json_decref(required);
	return s;
}

/* Makes "/v1/sessions/{id}" of "/v1/sessions/:id"; adds its parameters. */
static char *
path_of(const char *pattern, json_t *params)
{
	struct buf out = { 0 };

	while (*pattern != '\0') {
		size_t len = strcspn(pattern, ":");

		buf_add(&out, pattern, len);
		pattern += len;
		if (*pattern == ':') {
			len = strcspn(++pattern, "/");
			buf_fmt(&out, "{%.*s}", (int)len, pattern);
			json_array_append_new(params,
			    json_pack("{s:s%, s:s, s:b, s:{s:s}}", "name",
				pattern, len, "in", "path", "required", 1,
				"schema", "type", "string"));
			pattern += len;
		}
	}
	return out.data;
}

static json_t *
operation_schema(const struct route *r, json_t *params)
{
	json_t *op = json_pack("{s:s, s:O, s:{s:{s:s}, s:{s:s}}}", "summary",
	    r->help, "parameters", params, "responses", "2XX", "description",
	    "success", "default", "description",
	    "application/problem+json: type, title, status, detail, code, retryable, traceId, errors");

	if (r->body != NULL)
		json_object_set_new(op, "requestBody",
		    json_pack("{s:{s:{s:o}}}", "content", "application/json",
			"schema", object_schema(r->body, *r->body_count)));
	if (r->access != ACCESS_NONE)
		json_object_set_new(op, "security",
		    json_pack("[{s:[]}, {s:[]}]", "bearer", "apiKey"));
	return op;
}

json_t *
openapi_document(const struct route *routes, size_t count,
    const char *server_url)
{
	json_t *paths = json_object();

	for (size_t i = 0; i < count; i++) {
		const struct route *r = &routes[i];
		auto_json json_t *params = json_array();
		auto_free char *path = path_of(r->pattern, params);
		json_t *item = json_object_get(paths, path);
		char method[8] = "";

		for (size_t k = 0; r->method[k] != '\0' && k < 7; k++)
			method[k] = (char)tolower((unsigned char)r->method[k]);
		if (item == NULL) {
			item = json_object();
			json_object_set_new(paths, path, item);
		}
		json_object_set_new(item, method, operation_schema(r, params));
	}
	return json_pack(
	    "{s:s, s:{s:s, s:s}, s:[{s:s}], s:o, s:{s:{s:{s:s, s:s}, s:{s:s, s:s, s:s}}}}",
	    "openapi", "3.0.3", "info", "title", "Sandlease", "version",
	    PACKAGE_VERSION, "servers", "url", server_url, "paths", paths,
	    "components", "securitySchemes", "bearer", "type", "http", "scheme",
	    "bearer", "apiKey", "type", "apiKey", "in", "header", "name",
	    "X-API-Key");
}

int
v1_openapi(struct call *c, struct err *e)
{
	const struct app *app = app_of(c);
	auto_json json_t *doc = openapi_document(app->routes, app->route_count,
	    app->conf->public_url);

	(void)e;
	call_reply(c, 200, doc);
	return 0;
}
