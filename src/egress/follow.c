/* follow.c: makes the networks of sessions follow their rows. */
#include "common/base64.h"
#include "common/channel.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "control/network_link.h"
#include "egress/base/ruleset.h"
#include "egress/process.h"

/* Asks init for the session's packet filter and sockets. */
static int
ask_sockets(struct rows_process *p, const struct network_row *n, bool base,
    struct err *e)
{
	struct address addresses[NETWORK_ADDRESSES_MAX];
	/* with too many for rules each connection is decided by serve alone */
	struct ruleset rules = { .open = n->open || n->many,
		.ports = n->ports,
		.count = n->port_count,
		.addresses = addresses };
	struct network_filter filter;
	uint8_t bytes[RULESET_BYTES_MAX];
	auto_buf struct buf text = { 0 };

	for (size_t i = 0; i < n->address_count; i++)
		if (address_parse(n->addresses[i],
			&addresses[rules.address_count]))
			rules.address_count++;
	buf_str(&text, "");
	if (p->conf->egress_filter == 0)
		base64_encode(&text, bytes, ruleset_write(&rules, bytes));
	filter = (struct network_filter){ text.data, p->log.data };
	return network_link(&p->ctl, n, base, &filter, e);
}

/* Sends the session to the serving process, and asks init for its sockets. */
static int
send_session(struct rows_process *p, const struct network_row *n, int waiter,
    struct err *e)
{
	const struct agent_target *t = &n->target;
	const struct attached *a = attached_find(p, t->session);
	bool base = a == NULL || a->generation != t->generation;
	auto_json json_t *policies = json_pack("{s:O, s:O*}", "policies",
	    n->policies, "secrets", n->secrets);
	auto_fd int body = body_fd(policies, e);
	auto_fd int link = body < 0 ? -1 : ask_sockets(p, n, base, e);
	auto_json json_t *msg = NULL;
	int fds[] = { body, link, waiter };
	struct err unsent = { 0 };

	if (body < 0 || (link < 0 && base))
		return -1;
	msg = json_pack("{s:s, s:s, s:s, s:I, s:b}", "op", "session", "session",
	    t->session, "tenant", n->tenant, "generation",
	    (json_int_t)t->generation, "base", base);
	if (link < 0) {
		/* a narrower policy must not wait for the sandbox */
		(void)!channel_send(p->serve_fd, msg, fds, 1, &unsent);
		return -1;
	}
	if (channel_send(p->serve_fd, msg, fds, waiter >= 0 ? 3 : 2, e) < 0)
		return -1;
	attached_set(p, t->session, t->generation);
	return 0;
}

/* A session that has no cell here any more, or none yet. */
static int
end_session(struct rows_process *p, const char *session, struct err *e)
{
	const struct attached *a = attached_find(p, session);
	auto_json json_t *msg = NULL;

	if (a == NULL)
		return 0;
	msg = json_pack("{s:s, s:s}", "op", "end", "session", session);
	attached_drop(p, session, a->generation);
	return channel_send(p->serve_fd, msg, NULL, 0, e);
}

/* A worker's connection gets the answer, unless serve has it already. */
void
follow_answer(int waiter, bool ok, const char *why)
{
	auto_json json_t *msg =
	    json_pack("{s:b, s:s*}", "ok", ok, "message", why);
	struct err ignored;

	if (waiter >= 0)
		(void)!channel_send(waiter, msg, NULL, 0, &ignored);
}

void
follow_failed(struct rows_process *p, const char *session, const struct err *e)
{
	log_line(LOG_WARN, "follow", "session %s: %s", session, e->msg);
	if (e->kind == ERR_UNAVAILABLE)
		later_follow(p, session);
}

/* Makes the networks of sessions follow their rows; "" means all. */
int
follow(struct rows_process *p, const char *session, int waiter, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (p->serve_fd < 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_TRY_AGAIN,
		    "the serving process is starting");
	if (STORE_RUN(p->store, STMT_EGRESS_SESSIONS, &r, e, p->conf->host_name,
		session) < 0)
		return -1;
	if (rows_count(r) == 0 && session[0] != '\0') {
		follow_answer(waiter, false, "the session does not run here");
		return end_session(p, session, e);
	}
	for (size_t i = 0; i < rows_count(r); i++) {
		auto_network_row struct network_row n = { .any = false };
		struct err why = { 0 };

		if (network_row_read(&p->ctl, r, i, &n, &why) == 0 && !n.any &&
		    attached_find(p, n.target.session) == NULL) {
			follow_answer(waiter, true, NULL);
			continue;
		}
		if (why.msg[0] == '\0' &&
		    send_session(p, &n, waiter, &why) == 0)
			continue;
		if (session[0] != '\0') {
			*e = why;
			return -1;
		}
		/* one that does not answer must not keep the others waiting */
		follow_failed(p, n.target.session, &why);
	}
	return 0;
}

void
follow_all(struct rows_process *p)
{
	auto_json json_t *ids = json_array();
	struct attached *a = TAILQ_FIRST(&p->attached);
	struct err e = { 0 };
	size_t i;
	json_t *v;

	/* those that have a network no longer are not in the list of all */
	for (; a != NULL; a = TAILQ_NEXT(a, link))
		json_array_append_new(ids, json_string(a->session));
	json_array_foreach(ids, i, v)
	{
		if (follow(p, json_string_value(v), -1, &e) < 0)
			follow_failed(p, json_string_value(v), &e);
	}
	if (follow(p, "", -1, &e) < 0)
		log_err(LOG_WARN, "follow", &e);
}
