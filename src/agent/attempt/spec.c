/* spec.c: reads the work of an attempt, as the host sends it. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/attempt/attempt.h"
#include "agent/attempt/internal.h"
#include "agent/shell/envset.h"
#include "common/mem.h"
#include "common/quote.h"

struct spec_body {
	char cwd[SHELL_PATH_MAX];
	int64_t concurrency, collect_bytes;
	const json_t *files, *collect;
};

/* clang-format off */
static const struct jfield SPEC[] = {
	JFIELD("cwd", struct spec_body, cwd, J_STR, 0, 0, SHELL_PATH_MAX - 1, "working directory"),
	JFIELD("concurrency", struct spec_body, concurrency, J_INT, 0, 1, ATTEMPT_AT_ONCE_MAX, "attempts at once"),
	JFIELD("files", struct spec_body, files, J_ARR, 0, 0, ATTEMPT_FILES_MAX, "files that it brings"),
	JFIELD("collect", struct spec_body, collect, J_ARR, J_OF_STRINGS, 0, ATTEMPT_FILES_MAX, "patterns of files that are kept"),
	JFIELD("collectBytes", struct spec_body, collect_bytes, J_INT, 0, 0, INT64_MAX, "of these files"),
};

static const struct jfield LIMITS[] = {
	JFIELD("memoryMb", struct attempt_limits, memory_mb, J_INT, 0, 0, INT32_MAX, "memory"),
	JFIELD("cpuSeconds", struct attempt_limits, cpu_seconds, J_INT, 0, 0, INT32_MAX, "processor time"),
	JFIELD("wallSeconds", struct attempt_limits, wall_seconds, J_INT, 0, 0, INT32_MAX, "time"),
	JFIELD("pids", struct attempt_limits, pids, J_INT, 0, 0, INT32_MAX, "processes"),
	JFIELD("diskMb", struct attempt_limits, disk_mb, J_INT, 0, 0, INT32_MAX, "growth of files"),
};
/* clang-format on */

void
attempt_spec_free(struct attempt_spec *s)
{
	mem_free_ptr(&s->command);
	json_release(&s->env);
	json_release(&s->files);
	json_release(&s->collect);
}

static int
read_all(int fd, struct buf *out, struct err *e)
{
	char part[16 * 1024];
	ssize_t n;

	while ((n = pread(fd, part, sizeof(part), (off_t)out->len)) > 0) {
		if (out->len + (size_t)n > ATTEMPT_SPEC_MAX)
			return err_set(e, ERR_TOO_LARGE, CODE_VALIDATION_FAILED,
			    "the work is too large");
		buf_add(out, part, (size_t)n);
	}
	return n < 0 ? err_errno(e, "the work cannot be read") : 0;
}

/*
 * exec: the program is looked for in PATH and is none of bash's own, and the
 * attempt's process becomes it.
 */
static int
read_argv(const json_t *argv, struct attempt_spec *out, struct err *e)
{
	auto_buf struct buf line = { 0 };

	if (json_array_size(argv) == 0)
		return err_field(e, "argv", "must be a list of words");
	buf_str(&line, "exec");
	for (size_t i = 0; i < json_array_size(argv); i++) {
		const json_t *word = json_array_get(argv, i);

		if (!json_is_string(word) ||
		    strlen(json_string_value(word)) != json_string_length(word))
			return err_field(e, "argv",
			    "must be a list of words without a NUL");
		buf_str(&line, " ");
		quote_always(&line, json_string_value(word));
	}
	out->command = xstrdup(line.data);
	return 0;
}

static int
read_command(const json_t *body, struct attempt_spec *out, struct err *e)
{
	const json_t *command = json_object_get(body, "command");
	const json_t *argv = json_object_get(body, "argv");

	if (argv != NULL)
		return read_argv(argv, out, e);
	if (!json_is_string(command) || json_string_length(command) == 0 ||
	    strlen(json_string_value(command)) != json_string_length(command))
		return err_field(e, "command", "must be text without a NUL");
	out->command = xstrdup(json_string_value(command));
	return 0;
}

int
attempt_spec_read(int fd, struct attempt_spec *out, struct err *e)
{
	auto_buf struct buf text = { 0 };
	auto_json json_t *body = NULL;
	const json_t *limits, *env;
	struct spec_body b = { .concurrency = 1 };

	*out = (struct attempt_spec){ 0 };
	if (read_all(fd, &text, e) < 0 ||
	    json_parse(text.data != NULL ? text.data : "", text.len, &body, e) <
		0 ||
	    jfield_decode(body, SPEC, ARRAY_LEN(SPEC), J_LENIENT, &b, e) < 0)
		return -1;
	limits = json_object_get(body, "limits");
	env = json_object_get(body, "env");
	if ((limits != NULL &&
		jfield_decode(limits, LIMITS, ARRAY_LEN(LIMITS), J_LENIENT,
		    &out->limits, e) < 0) ||
	    (env != NULL && envset_check(env, "env", e) < 0) ||
	    read_command(body, out, e) < 0)
		return -1;
	str_copy(out->cwd, sizeof(out->cwd), b.cwd);
	out->concurrency = b.concurrency;
	out->env = env != NULL ? json_deep_copy(env) : json_object();
	out->files = json_deep_copy(b.files);
	out->collect = json_deep_copy(b.collect);
	out->collect_bytes = b.collect_bytes;
	return 0;
}
