/* socket.c: launches wrappers and makes the sockets to which nginx connects. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/fault.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/link/wire.h"

enum {
	CPU_MILLIS = 1000, /* of one processor */
	TMP_SHARE = 4,     /* /tmp gets 1/4 of the memory: a tmpfs is memory */
	TMP_MIN_MB = 16,
	TMP_MAX_MB = 1024,
	TMP_DEFAULT_MB = 256,
	SOCKET_PATH_MAX = 108
};

/* The sockets that every wrapper has, in this order; those of relays follow. */
static const int64_t WRAPPER_SOCKETS[] = { AGENT_PORT_DATA, AGENT_PORT_WS };

enum { SOCKETS_MAX = ARRAY_LEN(WRAPPER_SOCKETS) + AGENT_PORTS_MAX };

_Static_assert((int)SOCKETS_MAX + 3 <= (int)CHANNEL_FDS_MAX,
    "a launch has two sockets, relays and the groups of v1");

/* Whether the agent may have carried out the request in spite of *e. */
static bool
is_outcome_unknown(const struct err *e)
{
	return e->code == CODE_TIMED_OUT || e->code == CODE_PEER_CLOSED;
}

/* Whether a process listens there: a launch must not replace its socket. */
static bool
is_served(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	auto_fd int s =
	    socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	return s >= 0 && str_copy(a.sun_path, sizeof(a.sun_path), path) &&
	    (connect(s, (const struct sockaddr *)&a, sizeof(a)) == 0 ||
		errno == EAGAIN);
}

/* The descriptors of one launch, and the files to unlink if it fails. */
struct sockets {
	int fd[CHANNEL_FDS_MAX];
	size_t count;
	char path[SOCKETS_MAX][SOCKET_PATH_MAX];
	size_t path_count;
};

#define auto_sockets __attribute__((cleanup(sockets_close)))

static void
sockets_close(struct sockets *s)
{
	for (size_t i = 0; i < s->count; i++)
		close(s->fd[i]);
	s->count = 0;
}

static void
sockets_unlink(const struct sockets *s)
{
	for (size_t i = 0; i < s->path_count; i++)
		unlink(s->path[i]);
}

/* Makes a port's socket, also if another process listens under its name. */
static int
sockets_replace(struct sockets *s, const struct conf *conf,
    const struct agent_target *t, int64_t port, struct err *e)
{
	char *path = s->path[s->path_count];
	int fd;

	agent_socket_path(conf, t->session, t->generation, port, path,
	    SOCKET_PATH_MAX);
	fd = channel_listen(path, SOCK_STREAM, e);
	if (fd < 0)
		return -1;
	s->path_count++;
	s->fd[s->count++] = fd;
	return 0;
}

static int
sockets_add(struct sockets *s, const struct conf *conf,
    const struct agent_target *t, int64_t port, struct err *e)
{
	char path[SOCKET_PATH_MAX];

	agent_socket_path(conf, t->session, t->generation, port, path,
	    sizeof(path));
	if (is_served(path))
		return err_set(e, ERR_CONFLICT, CODE_ALREADY_RUNNING,
		    "session %s has a wrapper already", t->session);
	return sockets_replace(s, conf, t, port, e);
}

static int64_t
tmp_mb(const struct sandbox_spec *s)
{
	int64_t mb = s->memory_mb / TMP_SHARE;

	if (s->memory_mb <= 0)
		return TMP_DEFAULT_MB;
	return mb < TMP_MIN_MB ? TMP_MIN_MB : mb > TMP_MAX_MB ? TMP_MAX_MB : mb;
}

/*
 * The limits that the cell must set itself because no cgroup does, and the
 * number of processors that it shows to programs.
 */
struct own_limits {
	int64_t memory_mb;  /* 0: the cell sets none */
	int64_t pids;       /* 0: the cell sets none */
	int64_t shown_cpus; /* those of the class if enforced; 0: the host's */
};

static struct own_limits
own_limits(const struct provider *p, const struct sandbox_spec *s)
{
	/* no disk_mb: limits() then need not examine the disk */
	struct sandbox_spec only = { .memory_mb = s->memory_mb,
		.cpu_millis = s->cpu_millis,
		.pids = s->pids };
	auto_json json_t *limits = NULL;
	const json_t *memory, *pids, *cpu;
	struct own_limits own = { 0 };

	str_copy(only.id, sizeof(only.id), s->id);
	limits = p->ops->limits(p, &only);
	memory = json_object_get(limits, "memoryMb");
	pids = json_object_get(limits, "pids");
	cpu = json_object_get(limits, "cpuMillis");
	if (str_equal(json_str(memory, "by"), "watchdog"))
		own.memory_mb = s->memory_mb;
	/*
	 * RLIMIT_NPROC counts the processes of the whole sandbox: a session at
	 * the limit leaves none to its siblings.  So only without a cgroup.
	 */
	if (!str_equal(json_str(pids, "by"), "cgroup"))
		own.pids = s->pids;
	if (str_equal(json_str(cpu, "by"), "cgroup"))
		own.shown_cpus = (s->cpu_millis + CPU_MILLIS - 1) / CPU_MILLIS;
	if (own.shown_cpus >= sysconf(_SC_NPROCESSORS_ONLN))
		own.shown_cpus = 0;
	return own;
}

/* The limits of `s` that are the agent's, as launch and limit send them. */
static json_t *
limits_body(const struct sandbox_spec *s, const struct own_limits *own)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I}", "pids",
	    (json_int_t)own->pids, "tmpMb", (json_int_t)tmp_mb(s), "memoryMb",
	    (json_int_t)own->memory_mb, "fileMb", (json_int_t)s->disk_mb,
	    "shownMemoryMb", (json_int_t)s->memory_mb);
}

static json_t *
launch_body(const struct provider *p, const struct sandbox_spec *s,
    const struct agent_target *t, const struct agent_launch *l, size_t groups)
{
	json_t *ports = json_array();
	json_t *env = l->env != NULL ? json_deep_copy(l->env) : json_object();
	struct own_limits own = own_limits(p, s);
	const struct identity *who = l->commits_as;
	json_t *body = limits_body(s, &own);

	for (size_t i = 0; i < l->port_count; i++)
		json_array_append_new(ports, json_integer(l->ports[i]));
	json_object_update_new(body,
	    json_pack(
		"{s:s, s:I, s:I, s:s, s:o, s:I,"
		" s:b, s:s*, s:{s:s, s:s*, s:s*}, s:s, s:s, s:I, s:o, s:I}",
		"session", t->session, "generation", (json_int_t)t->generation,
		"intentMs", (json_int_t)l->intent_ms, "instance", t->instance,
		"env", env, "shownCpus", (json_int_t)own.shown_cpus, "network",
		l->network, "name", l->name, "user", "name", "user", "gitName",
		who != NULL ? who->name : NULL, "gitEmail",
		who != NULL ? who->email : NULL, "logLevel",
		LOG_LEVEL_NAMES[p->conf->log_level], "logFormat",
		LOG_FORMAT_NAMES[p->conf->log_format], "logKb",
		(json_int_t)p->conf->agent_log_kb, "ports", ports, "cgroups",
		(json_int_t)groups));
	return body;
}

static int
open_sockets(const struct provider *p, const struct sandbox_spec *s,
    const struct agent_target *t, const struct agent_launch *l,
    struct sockets *out, size_t *groups, struct err *e)
{
	int cell[PROVIDER_CELL_FDS_MAX];

	*groups = 0;
	if (l->port_count > AGENT_PORTS_MAX)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "more than %d ports", AGENT_PORTS_MAX);
	for (size_t i = 0; i < ARRAY_LEN(WRAPPER_SOCKETS); i++)
		if (sockets_add(out, p->conf, t, WRAPPER_SOCKETS[i], e) < 0)
			return -1;
	for (size_t i = 0; i < l->port_count; i++)
		if (sockets_add(out, p->conf, t, l->ports[i], e) < 0)
			return -1;
	if (p->ops->cell_open(p, s, t->session, cell, groups, e) < 0)
		return -1;
	for (size_t i = 0; i < *groups; i++)
		out->fd[out->count++] = cell[i];
	return 0;
}

/* Checks that init launched the instance and generation of the request. */
static int
check_launched(const json_t *reply, const struct agent_target *t, struct err *e)
{
	if (str_equal(json_str(reply, "instance"), t->instance) &&
	    json_integer_value(json_object_get(reply, "generation")) ==
		t->generation)
		return 0;
	return err_set(e, ERR_BAD_GATEWAY, CODE_AGENT_ERROR,
	    "the agent launched another wrapper than it was asked for");
}

/*
 * Whether the agent is older than WebSockets.  Such an agent runs in a sandbox
 * that was not stopped during an upgrade.  It refuses the socket that it does
 * not know before it has done anything.
 */
static bool
wants_no_ws(const struct err *e)
{
	return e->code == CODE_LAUNCH_FAILED &&
	    strstr(e->msg, " descriptors came, ") != NULL;
}

static void
sockets_drop_ws(struct sockets *s)
{
	const size_t ws = 1; /* its index in WRAPPER_SOCKETS */

	unlink(s->path[ws]);
	close(s->fd[ws]);
	s->count--;
	s->path_count--;
	memmove(&s->fd[ws], &s->fd[ws + 1], (s->count - ws) * sizeof(s->fd[0]));
	memmove(&s->path[ws], &s->path[ws + 1],
	    (s->path_count - ws) * sizeof(s->path[0]));
}

static int
ask_launch(const struct provider *p, const struct agent_target *t, json_t *body,
    const struct sockets *socks, int64_t deadline_ms, json_t **reply,
    struct err *e)
{
	struct agent_question q = { .op = "launch",
		.body = body,
		.fds = socks->fd,
		.fd_count = socks->count };

	return agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, reply,
	    e);
}

int
agent_launch(const struct provider *p, const struct sandbox_spec *s,
    const struct agent_target *t, const struct agent_launch *l,
    int64_t deadline_ms, struct err *e)
{
	auto_sockets struct sockets socks = { 0 };
	auto_json json_t *reply = NULL, *body = NULL;
	size_t groups;
	int rc;

	if (open_sockets(p, s, t, l, &socks, &groups, e) < 0) {
		sockets_unlink(&socks);
		return -1;
	}
	CRASH_POINT("launch.sockets");
	body = launch_body(p, s, t, l, groups);
	rc =
	    ask_launch(p, t, json_incref(body), &socks, deadline_ms, &reply, e);
	if (rc < 0 && wants_no_ws(e)) {
		sockets_drop_ws(&socks);
		*e = (struct err){ 0 };
		rc = ask_launch(p, t, json_incref(body), &socks, deadline_ms,
		    &reply, e);
	}
	if (rc < 0) {
		/* the wrapper may still come: keep its sockets */
		if (!is_outcome_unknown(e))
			sockets_unlink(&socks);
		return -1;
	}
	if (l->version != NULL)
		(void)!str_copy(l->version, AGENT_VERSION_MAX,
		    json_str(reply, "version"));
	return check_launched(reply, t, e);
}

/* Sets the limits that the host enforces; a launch makes the group with them. */
static int
limit_groups(const struct provider *p, const struct sandbox_spec *s,
    const char *session, struct err *e)
{
	int fds[PROVIDER_CELL_FDS_MAX];
	size_t count;

	if (p->ops->cell_open(p, s, session, fds, &count, e) < 0)
		return -1;
	while (count > 0)
		close(fds[--count]);
	return 0;
}

int
agent_limit(const struct provider *p, const struct sandbox_spec *s,
    const struct agent_target *t, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "limit" };
	struct own_limits own;
	auto_json json_t *reply = NULL;

	if (limit_groups(p, s, t->session, e) < 0)
		return -1;
	CRASH_POINT("limit.groups");
	own = own_limits(p, s);
	q.body = agent_body(t);
	json_object_update_new(q.body, limits_body(s, &own));
	return agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
	    e);
}

static json_t *
port_change_body(const struct agent_target *t, int64_t port, int64_t order)
{
	json_t *body = agent_body(t);

	json_object_set_new(body, "port", json_integer(port));
	json_object_set_new(body, "order", json_integer(order));
	return body;
}

/*
 * Makes a new listener each time: only the wrapper knows whether this order is
 * the newest.
 */
int
agent_expose(const struct provider *p, const struct agent_target *t,
    int64_t port, int64_t order, int64_t deadline_ms, struct err *e)
{
	auto_sockets struct sockets socks = { 0 };
	struct agent_question q = { .op = "expose" };
	auto_json json_t *reply = NULL;

	if (sockets_replace(&socks, p->conf, t, port, e) < 0)
		return -1;
	q.body = port_change_body(t, port, order);
	q.fds = socks.fd;
	q.fd_count = socks.count;
	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0) {
		if (!is_outcome_unknown(e))
			sockets_unlink(&socks);
		return -1;
	}
	return 0;
}

/*
 * Unlinks the socket only after the wrapper has agreed: the socket may belong
 * to a newer order.
 */
int
agent_unexpose(const struct provider *p, const struct agent_target *t,
    int64_t port, int64_t order, int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "unexpose",
		.body = port_change_body(t, port, order) };
	auto_json json_t *reply = NULL;
	char path[SOCKET_PATH_MAX];

	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) < 0)
		return -1;
	agent_socket_path(p->conf, t->session, t->generation, port, path,
	    sizeof(path));
	unlink(path);
	return 0;
}

bool
agent_exposes(const struct provider *p, const struct agent_target *t,
    int64_t port, bool answers)
{
	char path[SOCKET_PATH_MAX];

	agent_socket_path(p->conf, t->session, t->generation, port, path,
	    sizeof(path));
	return answers ? is_served(path) : access(path, F_OK) == 0;
}

int
agent_ws_bounce(const struct provider *p, const struct agent_target *t,
    int64_t deadline_ms, struct err *e)
{
	struct agent_question q = { .op = "ws_bounce", .body = agent_body(t) };
	auto_json json_t *reply = NULL;

	if (agent_ask(p, t->sandbox, t->incarnation, &q, deadline_ms, &reply,
		e) == 0)
		return 0;
	/* an agent that is older than WebSockets has none to close */
	return e->code == CODE_UNKNOWN_OP ? 0 : -1;
}
