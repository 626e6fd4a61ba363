/* disk_usage.c: asks init how much disk its sessions use. */
#include "provider/link/disk_usage.h"

#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/mem.h"
#include "provider/link/wire.h"

enum { AT_ONCE = 64 };

/* clang-format off */
static const struct jfield USAGE[] = {
	JFIELD("session", struct agent_disk_usage, session, J_STR, J_REQUIRED, ID_SESSION_LEN, ID_SESSION_LEN, "session id"),
	JFIELD("generation", struct agent_disk_usage, generation, J_INT, 0, 0, INT64_MAX, "of its wrapper"),
	JFIELD("bytes", struct agent_disk_usage, bytes, J_INT, J_REQUIRED, 0, AGENT_DISK_USAGE_MAX, "how much"),
	JFIELD("files", struct agent_disk_usage, files, J_INT, 0, 0, AGENT_DISK_USAGE_MAX, "how many inodes"),
	JFIELD("limitMb", struct agent_disk_usage, limit_mb, J_INT, 0, 0, INT64_C(1) << 32, "how much its sandbox may have"),
};
/* clang-format on */

/* Decodes [{"session", "bytes", ...}]; only these two members are required. */
static int
decode_usage(const json_t *list, struct agent_disk_usage **out, size_t *count,
    struct err *e)
{
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > AGENT_CELLS_MAX)
		return err_set(e, ERR_BAD_GATEWAY, CODE_AGENT_ERROR,
		    "agent usage: the answer cannot be understood");
	*out = xcalloc(n + 1, sizeof(**out));
	for (size_t i = 0; i < n; i++) {
		const json_t *v = json_array_get(list, i);
		struct agent_disk_usage *u = &(*out)[i];

		u->files = -1;
		if (jfield_decode(v, USAGE, ARRAY_LEN(USAGE), J_LENIENT, u, e) <
			0 ||
		    !id_is_session(u->session))
			return err_set(e, ERR_BAD_GATEWAY, CODE_AGENT_ERROR,
			    "agent usage: the answer cannot be understood");
		u->whole = json_is_true(json_object_get(v, "whole"));
	}
	*count = n;
	return 0;
}

int
agent_disk_usage(const struct provider *p, const char *sandbox,
    const char *incarnation, int64_t deadline_ms, struct agent_disk_usage **out,
    size_t *count, struct err *e)
{
	struct agent_question q = { .op = "usage", .body = json_object() };
	auto_json json_t *reply = NULL;

	*out = NULL;
	*count = 0;
	if (agent_ask(p, sandbox, incarnation, &q, deadline_ms, &reply, e) < 0)
		return -1;
	return decode_usage(json_object_get(reply, "cells"), out, count, e);
}

static void
ask_usage_batch(const struct provider *p, int wait_ms,
    struct agent_disk_usages *who, size_t count)
{
	int sock[AT_ONCE];
	int64_t deadline_ms;

	for (size_t i = 0; i < count; i++) {
		struct agent_question q = { .op = "usage",
			.body = json_object() };

		sock[i] = agent_ask_send(p, who[i].sandbox, who[i].incarnation,
		    &q, &who[i].e);
	}
	deadline_ms = clock_ms() + wait_ms;
	for (size_t i = 0; i < count; i++) {
		auto_json json_t *reply = NULL;

		if (sock[i] < 0)
			continue;
		who[i].answered = agent_ask_recv(sock[i], "usage", deadline_ms,
				      &reply, &who[i].e) == 0 &&
		    decode_usage(json_object_get(reply, "cells"), &who[i].list,
			&who[i].count, &who[i].e) == 0;
		close(sock[i]);
	}
}

void
agent_disk_usage_all(const struct provider *p, int wait_ms,
    struct agent_disk_usages *who, size_t count)
{
	for (size_t i = 0; i < count; i += AT_ONCE)
		ask_usage_batch(p, wait_ms, who + i,
		    count - i < AT_ONCE ? count - i : AT_ONCE);
}

int
agent_freeze_by_signal(const struct provider *p, const struct agent_target *t,
    bool on, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = on ? "halt" : "go_on",
		.body = agent_body(t) };
	auto_json json_t *reply = NULL;

	return agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
	    e);
}
