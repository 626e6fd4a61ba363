/* load.c: asks init what the processes of a sandbox use. */
#include "provider/link/load.h"

#include "common/mem.h"
#include "provider/link/wire.h"

/* Small enough that no sum of such numbers overflows. */
#define LOAD_MAX (INT64_C(1) << 53)

/* clang-format off */
static const struct jfield LOAD[] = {
	JFIELD("processes", struct usage, processes, J_INT, J_REQUIRED, 1, LOAD_MAX, "how many"),
	JFIELD("memoryBytes", struct usage, memory_bytes, J_INT, J_REQUIRED, 0, LOAD_MAX, "that they do not share"),
	JFIELD("cpuUs", struct usage, cpu_us, J_INT, J_REQUIRED, 0, LOAD_MAX, "processor time"),
};
/* clang-format on */

int
agent_load(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct usage *out, struct err *e)
{
	bool whole = t->session[0] == '\0';
	struct agent_question q = { .op = whole ? "load" : "cell_load",
		.body = whole ? json_object() : agent_body(t) };
	auto_json json_t *reply = NULL;
	const json_t *load;
	int rc = agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms,
	    &reply, e);

	*out = USAGE_UNKNOWN;
	out->running = true;
	if (rc < 0)
		return e->code == CODE_UNKNOWN_OP ? 0 : -1;
	load = json_object_get(reply, "load");
	if (json_is_null(load)) {
		out->running = false;
		return 0;
	}
	if (jfield_decode(load, LOAD, ARRAY_LEN(LOAD), J_LENIENT, out, e) < 0)
		return agent_bad_reply(e, q.op);
	return 0;
}
