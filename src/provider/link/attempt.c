/* attempt.c: puts attempts of executions into a wrapper, and asks for them. */
#include "provider/link/attempt.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/base64.h"
#include "common/correlation.h"
#include "common/mem.h"
#include "common/utf8.h"
#include "provider/link/link.h"
#include "provider/link/wire.h"

/* More cannot be: sums of a day must fit into 64 bits. */
#define USAGE_MAX (INT64_C(1) << 43)

/* the first descriptor is the work */
enum { FDS_MAX = 1 + PROVIDER_CELL_FDS_MAX + PROVIDER_METERS_MAX };

static const char *const STATES[] = { "queued", "running", "ended", NULL };
_Static_assert(ARRAY_LEN(STATES) == AGENT_ATTEMPT__MAX + 1,
    "every state has a name");

static json_t *
body_of(const struct agent_target *t, const char *id)
{
	json_t *body = agent_body(t);

	json_object_set_new(body, "id", json_string(id));
	return body;
}

int
agent_attempt_put(const struct provider *p, const struct agent_target *t,
    const char *id, const char *spec, const struct run_group *g,
    int64_t deadline_ms, bool *runs, struct err *e)
{
	auto_fd int work = agent_memory_file(spec, strlen(spec), e);
	auto_json json_t *reply = NULL;
	json_t *meters = json_array();
	int fds[FDS_MAX];
	struct agent_question q = { .op = "attempt_put",
		.body = body_of(t, id),
		.fds = fds };

	json_object_set_new(q.body, "meters", meters);
	if (work < 0) {
		json_decref(q.body);
		return -1;
	}
	fds[q.fd_count++] = work;
	for (size_t i = 0; i < g->join_count; i++)
		fds[q.fd_count++] = g->join[i];
	for (size_t i = 0; i < g->meter_count; i++) {
		fds[q.fd_count++] = g->meter[i].fd;
		json_array_append_new(meters,
		    json_pack("{s:s, s:s, s:I}", "what", g->meter[i].what,
			"key", g->meter[i].key, "part",
			(json_int_t)g->meter[i].part));
	}
	json_object_set_new(q.body, "joins",
	    json_integer((json_int_t)g->join_count));
	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	*runs = json_is_true(json_object_get(reply, "running"));
	return 0;
}

/* ---- the answer */

struct attempt_said {
	int state;
	char reason[AGENT_REASON_MAX];
	int64_t exit_code, signal, bytes, dropped, offset;
	int64_t began_ago_ms, ended_ago_ms;
};

/* clang-format off */
static const struct jfield SAID[] = {
	JFIELD_ENUM("state", struct attempt_said, state, J_REQUIRED, STATES, "state"),
	JFIELD("reason", struct attempt_said, reason, J_STR, J_REQUIRED, 0, AGENT_REASON_MAX - 1, "how it ended"),
	JFIELD("exitCode", struct attempt_said, exit_code, J_INT, J_REQUIRED, 0, 255, "exit code"),
	JFIELD("signal", struct attempt_said, signal, J_INT, J_REQUIRED, 0, 64, "signal"),
	JFIELD("bytes", struct attempt_said, bytes, J_INT, J_REQUIRED, 0, INT64_MAX, "of output"),
	JFIELD("dropped", struct attempt_said, dropped, J_INT, 0, 0, INT64_MAX, "of output"),
	JFIELD("beganAgoMs", struct attempt_said, began_ago_ms, J_INT, 0, 0, USAGE_MAX, "milliseconds"),
	JFIELD("endedAgoMs", struct attempt_said, ended_ago_ms, J_INT, 0, 0, USAGE_MAX, "milliseconds"),
	JFIELD("offset", struct attempt_said, offset, J_INT, 0, 0, INT64_MAX, "of the output"),
};
/* clang-format on */

/* Only numbers: the rest of the usage would be the tenant's text. */
static json_t *
usage_of(const json_t *reply)
{
	static const char *const NAMES[] = { "cpuUserUs", "cpuSystemUs",
		"memoryPeak", "wallMs", "written", "diskGrowth" };
	const json_t *said = json_object_get(reply, "usage");
	json_t *out = json_object();

	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		const json_t *n = json_object_get(said, NAMES[i]);

		if (json_is_integer(n) && json_integer_value(n) >= 0 &&
		    json_integer_value(n) <= USAGE_MAX)
			json_object_set_new(out, NAMES[i],
			    json_integer(json_integer_value(n)));
	}
	return out;
}

/* False if the output is not what the streams say. */
static bool
read_output(const json_t *reply, struct agent_attempt *out)
{
	const char *data = json_str(reply, "data");
	const json_t *streams = json_object_get(reply, "streams");
	size_t sum = 0;

	if (!base64_decode(&out->output, data, strlen(data)))
		return false;
	out->streams = json_array();
	for (size_t i = 0; i < json_array_size(streams); i++) {
		const json_t *run = json_array_get(streams, i);
		json_int_t which = json_integer_value(json_array_get(run, 0));
		json_int_t n = json_integer_value(json_array_get(run, 1));

		if (which < 0 || which > 1 || n <= 0 ||
		    (size_t)n > out->output.len - sum)
			return false;
		sum += (size_t)n;
		json_array_append_new(out->streams,
		    json_pack("[I, I]", which, n));
	}
	return sum == out->output.len;
}

static char *
text_of(const json_t *reply, const char *name, size_t max)
{
	char *text = xstrdup(json_str(reply, name));

	if (strlen(text) > max)
		text[utf8_whole(text, max)] = '\0';
	return text;
}

static int
read_answer(const json_t *reply, struct agent_attempt *out, struct err *e)
{
	struct attempt_said s = { .began_ago_ms = -1, .ended_ago_ms = -1 };

	*out = (struct agent_attempt){ .known = json_is_true(
					   json_object_get(reply, "known")) };
	if (!out->known)
		return 0;
	if (jfield_decode(reply, SAID, ARRAY_LEN(SAID), J_LENIENT, &s, e) < 0)
		return agent_bad_reply(e, "attempt_ask");
	out->state = (enum agent_attempt_state)s.state;
	str_copy(out->reason, sizeof(out->reason), s.reason);
	out->exit_code = s.exit_code;
	out->signal = s.signal;
	out->began_ago_ms = s.began_ago_ms;
	out->ended_ago_ms = s.ended_ago_ms;
	out->bytes = s.bytes;
	out->dropped = s.dropped;
	out->offset = s.offset;
	out->collected = json_is_true(json_object_get(reply, "collected"));
	out->message = text_of(reply, "message", ERR_MSG_MAX);
	out->tail = text_of(reply, "stderrTail", AGENT_TAIL_MAX);
	out->usage = usage_of(reply);
	out->keys = correlation_list(json_object_get(reply, "keys"));
	if (json_object_get(reply, "data") != NULL &&
	    !read_output(reply, out)) {
		err_field(e, "data", "is not what its streams say");
		return agent_bad_reply(e, "attempt_ask");
	}
	return 0;
}

int
agent_attempt_ask(const struct provider *p, const struct agent_target *t,
    const char *id, int64_t offset, int64_t wait_ms, int64_t deadline_ms,
    struct agent_attempt *out, struct err *e)
{
	struct agent_question q = { .op = "attempt_ask",
		.body = body_of(t, id) };
	auto_json json_t *reply = NULL;

	*out = (struct agent_attempt){ 0 };
	json_object_set_new(q.body, "offset", json_integer(offset));
	json_object_set_new(q.body, "waitMs", json_integer(wait_ms));
	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	return read_answer(reply, out, e);
}

/* A question about an attempt, of which only the failure is of interest. */
static int
tell(const struct provider *p, const struct agent_target *t, const char *op,
    const char *id, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = op, .body = body_of(t, id) };
	auto_json json_t *reply = NULL;

	return agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
	    e);
}

int
agent_attempt_cancel(const struct provider *p, const struct agent_target *t,
    const char *id, int64_t deadline_ms, struct err *e)
{
	return tell(p, t, "attempt_cancel", id, deadline_ms, e);
}

/* ---- files that it has left */

int
agent_attempt_memory(size_t size, struct err *e)
{
	auto_fd int fd =
	    memfd_create("sandlease-read", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	/* the agent cannot make it larger, nor end us by making it smaller */
	if (fd < 0 || ftruncate(fd, (off_t)size) < 0 ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL) <
		0)
		return err_errno(e, "memfd");
	return take_fd(&fd);
}

int
agent_attempt_read(const struct provider *p, const struct agent_target *t,
    const struct agent_attempt_file *f, int memory, int64_t deadline_ms,
    int64_t *bytes, int64_t *offset, struct err *e)
{
	struct agent_question q = { .op = "attempt_read",
		.body = body_of(t, f->id),
		.fds = &memory,
		.fd_count = 1 };
	auto_json json_t *reply = NULL;

	json_object_set_new(q.body, "file", json_string(f->file));
	json_object_set_new(q.body, "offset", json_integer(f->offset));
	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	*bytes = json_integer_value(json_object_get(reply, "bytes"));
	*offset = json_integer_value(json_object_get(reply, "offset"));
	if (*bytes >= 0 && *offset >= f->offset)
		return 0;
	err_field(e, "bytes", "cannot be");
	return agent_bad_reply(e, q.op);
}

int
agent_attempt_kept(const struct provider *p, const struct agent_target *t,
    const char *id, int64_t deadline_ms, struct err *e)
{
	return tell(p, t, "attempt_kept", id, deadline_ms, e);
}
