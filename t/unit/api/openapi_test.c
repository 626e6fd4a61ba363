/* openapi_test.c: tests that the document has every route and every field. */
#include "../unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/gate/access.h"
#include "api/route/openapi.h"
#include "api/route/routes.h"
#include "common/mem.h"

/* Writes "/v1/sessions/:id" as "/v1/sessions/{id}"; `vars` counts the names. */
static void
braces(const char *pattern, char *out, size_t size, size_t *vars)
{
	size_t n = 0;

	*vars = 0;
	for (; *pattern != '\0'; pattern++) {
		assert_true(n + 3 < size);
		if (*pattern != ':') {
			out[n++] = *pattern;
			continue;
		}
		++*vars;
		out[n++] = '{';
		while (pattern[1] != '\0' && pattern[1] != '/')
			out[n++] = *++pattern;
		out[n++] = '}';
	}
	out[n] = '\0';
}

static const json_t *
operation_of(const json_t *doc, const struct route *r, size_t *vars)
{
	char path[256], method[16] = "";
	const json_t *item;

	braces(r->pattern, path, sizeof(path), vars);
	for (size_t i = 0; r->method[i] != '\0'; i++)
		method[i] = (char)tolower((unsigned char)r->method[i]);
	item = json_object_get(json_object_get(doc, "paths"), path);
	if (item == NULL)
		fail_msg("%s is missing", path);
	return json_object_get(item, method);
}

static void
the_document_can_be_written_and_read_back(void **state)
{
	auto_json json_t *doc =
	    openapi_document(ROUTES, ROUTE_COUNT, "http://box.example");
	auto_free char *text = json_text(doc);
	auto_json json_t *again = NULL;
	struct err e = { 0 };

	(void)state;
	assert_int_equal(json_parse(text, strlen(text), &again, &e), 0);
	assert_true(json_equal(doc, again));
	assert_string_equal(json_str(doc, "openapi"), "3.0.3");
	assert_string_equal(
	    json_str(json_array_get(json_object_get(doc, "servers"), 0), "url"),
	    "http://box.example");
}

static void
every_route_is_there_with_its_parameters(void **state)
{
	auto_json json_t *doc =
	    openapi_document(ROUTES, ROUTE_COUNT, "http://box.example");
	size_t operations = 0;
	const char *path;
	json_t *item;

	(void)state;
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		const struct route *r = &ROUTES[i];
		size_t vars;
		const json_t *op = operation_of(doc, r, &vars);

		if (op == NULL)
			fail_msg("%s %s is missing", r->method, r->pattern);
		assert_string_equal(json_str(op, "summary"), r->help);
		assert_int_equal(
		    json_array_size(json_object_get(op, "parameters")), vars);
		assert_int_equal(json_object_get(op, "security") != NULL,
		    r->access != ACCESS_NONE);
		assert_int_equal(json_object_get(op, "requestBody") != NULL,
		    r->body != NULL);
	}
	json_object_foreach(json_object_get(doc, "paths"), path, item)
	{
		operations += json_object_size(item);
	}
	assert_int_equal(operations, ROUTE_COUNT);
}

static const json_t *
schema_of(const json_t *op)
{
	const json_t *s = json_object_get(op, "requestBody");

	s = json_object_get(json_object_get(s, "content"), "application/json");
	return json_object_get(s, "schema");
}

static void
every_field_is_there_with_its_bounds(void **state)
{
	static const struct {
		enum jtype type;
		const char *name, *min, *max;
	} TYPES[] = {
		{ J_STR, "string", "minLength", "maxLength" },
		{ J_INT, "integer", "minimum", "maximum" },
		{ J_BOOL, "boolean", NULL, NULL },
		{ J_ENUM, "string", NULL, NULL },
		{ J_OBJ, "object", NULL, "maxProperties" },
		{ J_ARR, "array", NULL, "maxItems" },
	};
	auto_json json_t *doc =
	    openapi_document(ROUTES, ROUTE_COUNT, "http://box.example");
	size_t vars, seen = 0;

	(void)state;
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		const struct route *r = &ROUTES[i];
		const json_t *schema;

		if (r->body == NULL)
			continue;
		schema = schema_of(operation_of(doc, r, &vars));
		assert_true(json_is_false(
		    json_object_get(schema, "additionalProperties")));
		for (size_t k = 0; k < *r->body_count; k++) {
			const struct jfield *f = &r->body[k];
			const json_t *p = json_object_get(
			    json_object_get(schema, "properties"), f->name);

			for (size_t t = 0; t < ARRAY_LEN(TYPES); t++) {
				if (TYPES[t].type != f->type)
					continue;
				seen++;
				assert_string_equal(json_str(p, "type"),
				    TYPES[t].name);
				if (TYPES[t].min != NULL)
					assert_int_equal(json_integer_value(
							     json_object_get(p,
								 TYPES[t].min)),
					    f->min);
				if (TYPES[t].max != NULL)
					assert_int_equal(json_integer_value(
							     json_object_get(p,
								 TYPES[t].max)),
					    f->max);
			}
			assert_string_equal(json_str(p, "description"),
			    f->help);
		}
	}
	assert_true(seen > 20);
}

static void
limits_are_there_with_their_members(void **state)
{
	static const struct {
		const char *path, *method, *member;
		const char *word; /* NULL: it is no member */
		int64_t value;
	} CASES[] = {
		{ "/v1/sessions", "post", "memoryMb", "minimum", 64 },
		{ "/v1/sessions", "post", "networkRequests", "minimum", 1 },
		{ "/v1/executions", "post", "networkRequests", "minimum", 1 },
		{ "/v1/sessions/{id}/executions", "post", "wallSeconds",
		    "maximum", 2592000 },
		{ "/v1/sessions/{id}/executions", "post", "networkRequests",
		    NULL, 0 },
		{ "/v1/profiles/{type}", "put", "pids", "minimum", 32 },
	};
	auto_json json_t *doc =
	    openapi_document(ROUTES, ROUTE_COUNT, "http://box.example");
	const json_t *paths = json_object_get(doc, "paths");

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		const json_t *s = json_object_get(
		    json_object_get(schema_of(json_object_get(
					json_object_get(paths, CASES[i].path),
					CASES[i].method)),
			"properties"),
		    "limits");
		const json_t *member =
		    json_object_get(json_object_get(s, "properties"),
			CASES[i].member);

		assert_true(
		    json_is_false(json_object_get(s, "additionalProperties")));
		assert_int_equal(member != NULL, CASES[i].word != NULL);
		if (member != NULL)
			assert_int_equal(json_integer_value(json_object_get(
					     member, CASES[i].word)),
			    CASES[i].value);
	}
}

static void
no_two_routes_are_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROUTE_COUNT; i++)
		for (size_t k = 0; k < i; k++)
			if (strcmp(ROUTES[i].pattern, ROUTES[k].pattern) == 0)
				assert_string_not_equal(ROUTES[i].method,
				    ROUTES[k].method);
}

static void
what_changes_something_needs_more_than_a_read_key(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		const struct route *r = &ROUTES[i];
		bool login = strcmp(r->pattern, "/v1/login") == 0;

		if (strcmp(r->method, "GET") != 0 && !login &&
		    r->access < ACCESS_TENANT)
			fail_msg("%s %s", r->method, r->pattern);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_document_can_be_written_and_read_back),
		cmocka_unit_test(every_route_is_there_with_its_parameters),
		cmocka_unit_test(every_field_is_there_with_its_bounds),
		cmocka_unit_test(limits_are_there_with_their_members),
		cmocka_unit_test(no_two_routes_are_the_same),
		cmocka_unit_test(
		    what_changes_something_needs_more_than_a_read_key),
	};

	return cmocka_run_group_tests_name("openapi", tests, NULL, NULL);
}
