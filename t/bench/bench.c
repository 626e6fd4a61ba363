/* bench.c: makes the requests of one run of `load`. */
#include "bench/bench.h"

#include <stdlib.h>
#include <string.h>

#include "common/mem.h"

json_t *
bench_answer(const struct visit *v)
{
	struct err ignored;
	json_t *body = NULL;

	if (v->answer.len == 0 ||
	    json_parse(v->answer.data, v->answer.len, &body, &ignored) < 0)
		return NULL;
	return body;
}

void
bench_open(struct bench *b, size_t count)
{
	b->visits = xcalloc(count, sizeof(*b->visits));
	b->count = count;
	for (size_t i = 0; i < count; i++)
		visit_open(&b->visits[i], &b->place);
}

void
bench_close(struct bench *b)
{
	for (size_t i = 0; i < b->count; i++)
		visit_close(&b->visits[i]);
	free(b->visits);
}

int
bench_failures(const struct bench *b, struct err *e)
{
	size_t failed = 0;

	for (size_t i = 0; i < b->count; i++)
		failed += b->visits[i].failed;
	if (failed > 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_FAILED,
		    "%zu of %zu failed", failed, b->count);
	return 0;
}

int
bench_ids(const char *file, char (**ids)[VISIT_ID_MAX], size_t *count,
    struct err *e)
{
	FILE *f = fopen(file, "r");

	if (f == NULL)
		return err_errno(e, "%s", file);
	*ids = xcalloc(COUNT_MAX, VISIT_ID_MAX);
	for (*count = 0; *count < COUNT_MAX; (*count)++) {
		char *id = (*ids)[*count];

		if (fgets(id, VISIT_ID_MAX, f) == NULL)
			break;
		id[strcspn(id, "\n")] = '\0';
	}
	fclose(f);
	return 0;
}

int
bench_sessions(struct bench *b, char **argv, size_t max, struct err *e)
{
	auto_free char(*ids)[VISIT_ID_MAX] = NULL;
	int64_t turns;
	size_t count;

	if (!str_to_int(argv[1], 1, COUNT_MAX, &turns))
		return err_set(e, ERR_INVALID, CODE_USAGE, "not a number");
	if (bench_ids(argv[0], &ids, &count, e) < 0)
		return -1;
	if (count == 0)
		return err_set(e, ERR_INVALID, CODE_USAGE, "%s is empty",
		    argv[0]);
	b->turns = (size_t)turns;
	bench_open(b, count < max ? count : max);
	for (size_t i = 0; i < b->count; i++)
		str_copy(b->visits[i].session, VISIT_ID_MAX, ids[i]);
	return 0;
}

void
bench_ask(struct bench *b, struct visit *v, const char *method,
    const char *path, const char *body)
{
	auto_free char *whole =
	    xasprintf("/v1/sessions/%s%s", v->session, path);

	visit_ask(v, &b->place, method, whole, body);
}
