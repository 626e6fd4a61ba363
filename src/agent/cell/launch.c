/* launch.c: decodes the message that asks for a wrapper. */
#include "agent/cell/launch.h"

#include "agent/shell/envset.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	MEGABYTES_MAX = 1 << 24,
	PIDS_MAX = 1 << 22,
	CGROUPS_MAX = 8,
	CPUS_MAX = 8192
};

struct wire {
	char session[ID_MAX];
	char instance[ID_MAX];
	int64_t generation, intent_ms;
	char name[LAUNCH_NAME_MAX];
	const json_t *env, *user, *ports;
	int64_t pids, tmp_mb, memory_mb, file_mb, cgroups, log_kb;
	int64_t shown_memory_mb, shown_cpus;
	bool network;
	int log_level, log_format;
};

/* clang-format off */
static const struct jfield FIELDS[] = {
	JFIELD("session", struct wire, session, J_STR, J_REQUIRED, ID_SESSION_LEN, ID_SESSION_LEN, "id of the session"),
	JFIELD("instance", struct wire, instance, J_STR, J_REQUIRED, 1, ID_MAX - 1, "name of this wrapper"),
	JFIELD("generation", struct wire, generation, J_INT, J_REQUIRED, 1, INT64_MAX, "fence"),
	JFIELD("intentMs", struct wire, intent_ms, J_INT, 0, 0, INT64_MAX, "time of the intent"),
	JFIELD("env", struct wire, env, J_OBJ, 0, 0, ENV_COUNT_MAX, "variables of the session"),
	JFIELD("user", struct wire, user, J_OBJ, 0, 0, 16, "user name and git identity inside"),
	JFIELD("ports", struct wire, ports, J_ARR, 0, 0, CHANNEL_FDS_MAX - LAUNCH_PORTS, "ports exposed already"),
	JFIELD("name", struct wire, name, J_STR, 0, 0, LAUNCH_NAME_MAX - 1, "name of the session"),
	JFIELD("shownCpus", struct wire, shown_cpus, J_INT, 0, 0, CPUS_MAX, "processors that programs see"),
	JFIELD("network", struct wire, network, J_BOOL, 0, 0, 0, "may connect to something"),
	JFIELD("cgroups", struct wire, cgroups, J_INT, 0, 0, CGROUPS_MAX, "cgroup.procs files passed"),
	JFIELD("logKb", struct wire, log_kb, J_INT, 0, 0, 1 << 20, "maximum size of the log"),
	JFIELD_ENUM("logLevel", struct wire, log_level, 0, LOG_LEVEL_NAMES, "log level of the wrapper"),
	JFIELD_ENUM("logFormat", struct wire, log_format, 0, LOG_FORMAT_NAMES, "log format of the wrapper"),
};
/* clang-format on */

/* clang-format off */
/* Limits that a cell may also get later. */
static const struct jfield LIMITS[] = {
	JFIELD("pids", struct wire, pids, J_INT, 0, 0, PIDS_MAX, "processes of the cell"),
	JFIELD("tmpMb", struct wire, tmp_mb, J_INT, 0, 0, MEGABYTES_MAX, "size of /tmp"),
	JFIELD("memoryMb", struct wire, memory_mb, J_INT, 0, 0, MEGABYTES_MAX, "memory of a process if no cgroup limits it"),
	JFIELD("fileMb", struct wire, file_mb, J_INT, 0, 0, MEGABYTES_MAX, "largest file"),
	JFIELD("shownMemoryMb", struct wire, shown_memory_mb, J_INT, 0, 0, MEGABYTES_MAX, "memory that programs see"),
};
/* clang-format on */

static int
read_ports(const json_t *ports, struct launch *out, struct err *e)
{
	for (size_t i = 0; i < json_array_size(ports); i++) {
		const json_t *v = json_array_get(ports, i);
		json_int_t port = json_integer_value(v);

		if (!json_is_integer(v) || port < 1 || port > 65535)
			return err_field(e, "ports",
			    "must be integers between 1 and 65535");
		out->ports[out->port_count++] = (int)port;
	}
	return 0;
}

int
launch_decode_limits(const json_t *msg, struct launch *out, struct err *e)
{
	struct wire w = { 0 };

	if (jfield_decode(msg, LIMITS, ARRAY_LEN(LIMITS), J_LENIENT, &w, e) < 0)
		return -1;
	out->pids = w.pids;
	out->tmp_mb = w.tmp_mb;
	out->memory_mb = w.memory_mb;
	out->file_mb = w.file_mb;
	out->shown_memory_mb = w.shown_memory_mb;
	return 0;
}

int
launch_decode(const json_t *msg, struct launch *out, struct err *e)
{
	struct wire w = { .log_level = LOG_INFO, .log_format = LOG_KV };

	if (jfield_decode(msg, FIELDS, ARRAY_LEN(FIELDS), J_LENIENT, &w, e) < 0)
		return -1;
	if (!id_is_session(w.session))
		return err_field(e, "session", "is not a session's id");
	if (!str_made_of(w.instance, "abcdefghijklmnopqrstuvwxyz0123456789", 1,
		ID_MAX - 1))
		return err_field(e, "instance", "must have only a-z and 0-9");
	if (envset_check(w.env, "env", e) < 0)
		return -1;
	*out = (struct launch){
		.generation = w.generation,
		.intent_ms = w.intent_ms,
		.env = w.env,
		.shown_cpus = w.shown_cpus,
		.network = w.network,
		.cgroups = w.cgroups,
		.log_kb = w.log_kb,
		.log_level = (enum log_level)w.log_level,
		.log_format = (enum log_format)w.log_format,
	};
	str_copy(out->session, sizeof(out->session), w.session);
	str_copy(out->instance, sizeof(out->instance), w.instance);
	str_copy(out->name, sizeof(out->name), w.name);
	str_copy(out->user, sizeof(out->user), json_str(w.user, "name"));
	str_copy(out->git_name, sizeof(out->git_name),
	    json_str(w.user, "gitName"));
	str_copy(out->git_email, sizeof(out->git_email),
	    json_str(w.user, "gitEmail"));
	return launch_decode_limits(msg, out, e) < 0
	    ? -1
	    : read_ports(w.ports, out, e);
}
