/* ruleset.c: writes the messages that set up a namespace's packet filter. */
#include "egress/base/ruleset.h"

#include <arpa/inet.h>
#include <libmnl/libmnl.h>
#include <libnftnl/batch.h>
#include <libnftnl/chain.h>
#include <libnftnl/common.h>
#include <libnftnl/expr.h>
#include <libnftnl/rule.h>
#include <libnftnl/table.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netfilter/nfnetlink_log.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <netinet/ip6.h>
#include <netinet/tcp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <string.h>

enum {
	PRIORITY_TRACK = -300,
	PRIORITY_REDIRECT = -100,
	PRIORITY_REFUSE = 0,
	V4_TO = 16, /* where an IPv4 header has its destination */
	V6_TO = 24,
	TCP_FROM_PORT = 0,
	TCP_TO_PORT = 2,
	BATCH_ROOM = 4096,
	REPORTS_PER_SECOND = 20,
	REPORTS_BURST = 60,
	REPORT_BYTES = 128, /* of each packet */
	CONNECTIONS_PER_SECOND = 200,
	CONNECTIONS_BURST = 2000
};

static const char TABLE[] = "sandlease";

/* clang-format off */
static const struct {
	const char *name, *type;
	int priority;
} CHAINS[] = {
	{ "track",    "filter", PRIORITY_TRACK },
	{ "redirect", "nat",    PRIORITY_REDIRECT },
	{ "refuse",   "filter", PRIORITY_REFUSE },
};
/* clang-format on */

/* ---- expressions; each is added to a rule, which owns it */

static struct nftnl_expr *
add(struct nftnl_rule *r, const char *name)
{
	struct nftnl_expr *x = nftnl_expr_alloc(name);

	if (x == NULL)
		abort(); /* out of memory */
	nftnl_rule_add_expr(r, x);
	return x;
}

static void
compare_by(struct nftnl_rule *r, uint32_t op, const void *value, uint32_t len)
{
	struct nftnl_expr *x = add(r, "cmp");

	nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_SREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_CMP_OP, op);
	nftnl_expr_set(x, NFTNL_EXPR_CMP_DATA, value, len);
}

static void
compare(struct nftnl_rule *r, const void *value, uint32_t len)
{
	compare_by(r, NFT_CMP_EQ, value, len);
}

/* meta KEY == value, of one byte */
static void
match_meta(struct nftnl_rule *r, uint32_t key, uint8_t value)
{
	struct nftnl_expr *x = add(r, "meta");

	nftnl_expr_set_u32(x, NFTNL_EXPR_META_KEY, key);
	nftnl_expr_set_u32(x, NFTNL_EXPR_META_DREG, NFT_REG_1);
	compare(r, &value, sizeof(value));
}

static void
load(struct nftnl_rule *r, uint32_t base, uint32_t offset, uint32_t len)
{
	struct nftnl_expr *x = add(r, "payload");

	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_BASE, base);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_OFFSET, offset);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_LEN, len);
	nftnl_expr_set_u32(x, NFTNL_EXPR_PAYLOAD_DREG, NFT_REG_1);
}

/* ip daddr NET/bits, or all others */
static void
match_v4(struct nftnl_rule *r, uint32_t op, const char *net, unsigned bits)
{
	struct in_addr base, mask = { .s_addr = htonl(~0U << (32 - bits)) };
	const uint32_t none = 0;
	struct nftnl_expr *x;

	inet_pton(AF_INET, net, &base);
	match_meta(r, NFT_META_NFPROTO, NFPROTO_IPV4);
	load(r, NFT_PAYLOAD_NETWORK_HEADER, V4_TO, sizeof(base));
	x = add(r, "bitwise");
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_SREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_DREG, NFT_REG_1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_BITWISE_LEN, sizeof(mask));
	nftnl_expr_set(x, NFTNL_EXPR_BITWISE_MASK, &mask, sizeof(mask));
	nftnl_expr_set(x, NFTNL_EXPR_BITWISE_XOR, &none, sizeof(none));
	compare_by(r, op, &base, sizeof(base));
}

static void
match_v4_loopback(struct nftnl_rule *r)
{
	match_v4(r, NFT_CMP_EQ, "127.0.0.0", 8);
}

/* ip6 daddr */
static void
match_v6(struct nftnl_rule *r, const struct in6_addr *to)
{
	match_meta(r, NFT_META_NFPROTO, NFPROTO_IPV6);
	load(r, NFT_PAYLOAD_NETWORK_HEADER, V6_TO, sizeof(*to));
	compare(r, to, sizeof(*to));
}

static void
match_v6_loopback(struct nftnl_rule *r)
{
	match_v6(r, &in6addr_loopback);
}

static void
match_address(struct nftnl_rule *r, const struct address *a)
{
	char text[ADDRESS_TEXT_MAX];

	address_print(a, text);
	if (a->v4)
		match_v4(r, NFT_CMP_EQ, text, 32);
	else
		match_v6(r, &a->ip);
}

static void
decide(struct nftnl_rule *r, uint32_t verdict)
{
	struct nftnl_expr *x = add(r, "immediate");

	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, NFT_REG_VERDICT);
	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_VERDICT, verdict);
}

static void
accept_it(struct nftnl_rule *r)
{
	decide(r, NF_ACCEPT);
}

/* tcp sport or dport */
static void
match_port(struct nftnl_rule *r, uint32_t offset, uint16_t port)
{
	uint16_t value = htons(port);

	match_meta(r, NFT_META_L4PROTO, IPPROTO_TCP);
	load(r, NFT_PAYLOAD_TRANSPORT_HEADER, offset, sizeof(value));
	compare(r, &value, sizeof(value));
}

static void
redirect(struct nftnl_rule *r)
{
	uint16_t port = htons(RULESET_PORT);
	struct nftnl_expr *x = add(r, "immediate");

	nftnl_expr_set_u32(x, NFTNL_EXPR_IMM_DREG, NFT_REG_1);
	nftnl_expr_set(x, NFTNL_EXPR_IMM_DATA, &port, sizeof(port));
	x = add(r, "redir");
	nftnl_expr_set_u32(x, NFTNL_EXPR_REDIR_REG_PROTO_MIN, NFT_REG_1);
}

/* ---- rules */

static void
accept_our_answers(struct nftnl_rule *r)
{
	match_port(r, TCP_FROM_PORT, RULESET_PORT);
	accept_it(r);
}

static void
ignore_v4_loopback(struct nftnl_rule *r)
{
	match_v4_loopback(r);
	add(r, "notrack");
}

static void
ignore_v6_loopback(struct nftnl_rule *r)
{
	match_v6_loopback(r);
	add(r, "notrack");
}

static void
accept_v4_loopback(struct nftnl_rule *r)
{
	match_v4_loopback(r);
	accept_it(r);
}

static void
accept_v6_loopback(struct nftnl_rule *r)
{
	match_v6_loopback(r);
	accept_it(r);
}

static void
accept_v6(struct nftnl_rule *r)
{
	match_meta(r, NFT_META_NFPROTO, NFPROTO_IPV6);
	accept_it(r);
}

static void
accept_others(struct nftnl_rule *r)
{
	match_v4(r, NFT_CMP_NEQ, "198.18.0.0", 15);
	accept_it(r);
}

/* So many packets in a second, or what is more than that. */
static void
limit(struct nftnl_rule *r, uint64_t rate, uint32_t burst, bool over)
{
	struct nftnl_expr *x = add(r, "limit");

	nftnl_expr_set_u64(x, NFTNL_EXPR_LIMIT_RATE, rate);
	nftnl_expr_set_u64(x, NFTNL_EXPR_LIMIT_UNIT, 1);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_BURST, burst);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_TYPE, NFT_LIMIT_PKTS);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LIMIT_FLAGS,
	    over ? NFT_LIMIT_F_INV : 0);
}

/* The client's kernel sends the packet once more, a second later. */
static void
drop_too_many(struct nftnl_rule *r)
{
	match_meta(r, NFT_META_L4PROTO, IPPROTO_TCP);
	limit(r, CONNECTIONS_PER_SECOND, CONNECTIONS_BURST, true);
	decide(r, NF_DROP);
}

static void
redirect_tcp(struct nftnl_rule *r)
{
	match_meta(r, NFT_META_L4PROTO, IPPROTO_TCP);
	redirect(r);
}

/* Answers to redirected connections go there, and refusals. */
static void
accept_own_address(struct nftnl_rule *r)
{
	match_v4(r, NFT_CMP_EQ, "198.18.0.1", 32);
	accept_it(r);
}

static void
report(struct nftnl_rule *r)
{
	struct nftnl_expr *x;

	limit(r, REPORTS_PER_SECOND, REPORTS_BURST, false);
	x = add(r, "log");
	nftnl_expr_set_u16(x, NFTNL_EXPR_LOG_GROUP, RULESET_GROUP);
	nftnl_expr_set_u32(x, NFTNL_EXPR_LOG_SNAPLEN, REPORT_BYTES);
}

static void
reset_tcp(struct nftnl_rule *r)
{
	struct nftnl_expr *x;

	match_meta(r, NFT_META_L4PROTO, IPPROTO_TCP);
	x = add(r, "reject");
	nftnl_expr_set_u32(x, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_TCP_RST);
	nftnl_expr_set_u8(x, NFTNL_EXPR_REJECT_CODE, 0);
}

static void
reject(struct nftnl_rule *r)
{
	struct nftnl_expr *x = add(r, "reject");

	nftnl_expr_set_u32(x, NFTNL_EXPR_REJECT_TYPE, NFT_REJECT_ICMPX_UNREACH);
	nftnl_expr_set_u8(x, NFTNL_EXPR_REJECT_CODE,
	    NFT_REJECT_ICMPX_ADMIN_PROHIBITED);
}

/* PORTS and ADDRESSES: those of a network that is not open. */
enum when { ALWAYS, OPEN, STRICT, PORTS, ADDRESSES };

/* clang-format off */
static const struct {
	const char *chain;
	enum when when;
	void (*write)(struct nftnl_rule *r);
} RULES[] = {
	{ "track",    ALWAYS, accept_our_answers },
	{ "track",    ALWAYS, ignore_v4_loopback },
	{ "track",    ALWAYS, ignore_v6_loopback },
	{ "redirect", ALWAYS, drop_too_many },
	{ "redirect", OPEN,   accept_v4_loopback },
	{ "redirect", OPEN,   accept_v6_loopback },
	{ "redirect", OPEN,   redirect_tcp },
	{ "redirect", ADDRESSES, NULL }, /* a rule for each */
	{ "redirect", STRICT, accept_v6 },
	{ "redirect", STRICT, accept_others },
	{ "redirect", PORTS, NULL }, /* a rule for each */
	{ "refuse",   ALWAYS, accept_v4_loopback },
	{ "refuse",   ALWAYS, accept_v6_loopback },
	{ "refuse",   ALWAYS, accept_own_address },
	{ "refuse",   ALWAYS, report },
	{ "refuse",   ALWAYS, reset_tcp },
	{ "refuse",   ALWAYS, reject },
};
/* clang-format on */

/* ---- messages */

struct writer {
	struct mnl_nlmsg_batch *batch;
	uint32_t seq;
};

static struct nlmsghdr *
head(struct writer *w, uint16_t type, uint16_t flags)
{
	return nftnl_nlmsg_build_hdr(mnl_nlmsg_batch_current(w->batch), type,
	    NFPROTO_INET, flags, w->seq++);
}

static void
put_table(struct writer *w, uint16_t type, uint16_t flags)
{
	struct nlmsghdr *m = head(w, type, flags);
	struct nftnl_table *t = nftnl_table_alloc();

	nftnl_table_set_u32(t, NFTNL_TABLE_FAMILY, NFPROTO_INET);
	nftnl_table_set_str(t, NFTNL_TABLE_NAME, TABLE);
	nftnl_table_nlmsg_build_payload(m, t);
	nftnl_table_free(t);
	mnl_nlmsg_batch_next(w->batch);
}

static void
put_chain(struct writer *w, size_t i)
{
	struct nlmsghdr *m = head(w, NFT_MSG_NEWCHAIN, NLM_F_CREATE);
	struct nftnl_chain *c = nftnl_chain_alloc();

	nftnl_chain_set_str(c, NFTNL_CHAIN_TABLE, TABLE);
	nftnl_chain_set_str(c, NFTNL_CHAIN_NAME, CHAINS[i].name);
	nftnl_chain_set_str(c, NFTNL_CHAIN_TYPE, CHAINS[i].type);
	nftnl_chain_set_u32(c, NFTNL_CHAIN_HOOKNUM, NF_INET_LOCAL_OUT);
	nftnl_chain_set_s32(c, NFTNL_CHAIN_PRIO, CHAINS[i].priority);
	nftnl_chain_nlmsg_build_payload(m, c);
	nftnl_chain_free(c);
	mnl_nlmsg_batch_next(w->batch);
}

/* A rule of a chain, to be filled in and given to put_rule(). */
static struct nftnl_rule *
new_rule(const char *chain)
{
	struct nftnl_rule *r = nftnl_rule_alloc();

	if (r == NULL)
		abort(); /* out of memory */
	nftnl_rule_set_u32(r, NFTNL_RULE_FAMILY, NFPROTO_INET);
	nftnl_rule_set_str(r, NFTNL_RULE_TABLE, TABLE);
	nftnl_rule_set_str(r, NFTNL_RULE_CHAIN, chain);
	return r;
}

static void
put_rule(struct writer *w, struct nftnl_rule *r, uint16_t flags)
{
	struct nlmsghdr *m = head(w, NFT_MSG_NEWRULE,
	    (uint16_t)(NLM_F_CREATE | NLM_F_APPEND | flags));

	nftnl_rule_nlmsg_build_payload(m, r);
	nftnl_rule_free(r);
	mnl_nlmsg_batch_next(w->batch);
}

static void
put_ports(struct writer *w, const struct ruleset *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct nftnl_rule *r = new_rule("redirect");

		match_port(r, TCP_TO_PORT, s->ports[i]);
		redirect(r);
		put_rule(w, r, 0);
	}
}

static void
put_addresses(struct writer *w, const struct ruleset *s)
{
	for (size_t i = 0; i < s->address_count; i++) {
		struct nftnl_rule *r = new_rule("redirect");

		match_address(r, &s->addresses[i]);
		match_meta(r, NFT_META_L4PROTO, IPPROTO_TCP);
		redirect(r);
		put_rule(w, r, 0);
	}
}

/* The kernel confirms the last one, if all were accepted. */
static void
put_rules(struct writer *w, const struct ruleset *s)
{
	size_t last = sizeof(RULES) / sizeof(RULES[0]) - 1;
	struct nftnl_rule *r;

	for (size_t i = 0; i <= last; i++) {
		enum when when = RULES[i].when;

		if (when != ALWAYS && (when == OPEN) != s->open)
			continue;
		if (when == PORTS) {
			put_ports(w, s);
		} else if (when == ADDRESSES) {
			put_addresses(w, s);
		} else {
			r = new_rule(RULES[i].chain);
			RULES[i].write(r);
			put_rule(w, r, i == last ? NLM_F_ACK : 0);
		}
	}
}

size_t
ruleset_write(const struct ruleset *s, uint8_t out[RULESET_BYTES_MAX])
{
	struct writer w = { .seq = 1 };
	size_t len;

	/* a batch wants room for one more message */
	w.batch = mnl_nlmsg_batch_start(out, RULESET_BYTES_MAX - BATCH_ROOM);
	if (w.batch == NULL)
		abort(); /* out of memory */
	nftnl_batch_begin(mnl_nlmsg_batch_current(w.batch), w.seq++);
	mnl_nlmsg_batch_next(w.batch);
	/* made, so that it can be deleted, with the rules of an earlier call */
	put_table(&w, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	put_table(&w, NFT_MSG_DELTABLE, 0);
	put_table(&w, NFT_MSG_NEWTABLE, NLM_F_CREATE);
	for (size_t i = 0; i < sizeof(CHAINS) / sizeof(CHAINS[0]); i++)
		put_chain(&w, i);
	put_rules(&w, s);
	nftnl_batch_end(mnl_nlmsg_batch_current(w.batch), w.seq++);
	mnl_nlmsg_batch_next(w.batch);
	len = mnl_nlmsg_batch_size(w.batch);
	mnl_nlmsg_batch_stop(w.batch);
	return len;
}

size_t
ruleset_write_log(uint8_t out[RULESET_BYTES_MAX])
{
	struct nfulnl_msg_config_cmd bind = { .command = NFULNL_CFG_CMD_BIND };
	struct nfulnl_msg_config_mode mode = { .copy_mode = NFULNL_COPY_PACKET,
		.copy_range = htonl(REPORT_BYTES) };
	struct nlmsghdr *m = mnl_nlmsg_put_header(out);
	struct nfgenmsg *g;

	m->nlmsg_type = NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_CONFIG;
	m->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	g = mnl_nlmsg_put_extra_header(m, sizeof(*g));
	*g = (struct nfgenmsg){ .nfgen_family = AF_UNSPEC,
		.version = NFNETLINK_V0,
		.res_id = htons(RULESET_GROUP) };
	mnl_attr_put(m, NFULA_CFG_CMD, sizeof(bind), &bind);
	mnl_attr_put(m, NFULA_CFG_MODE, sizeof(mode), &mode);
	/* each packet at once */
	mnl_attr_put_u32(m, NFULA_CFG_QTHRESH, htonl(1));
	return m->nlmsg_len;
}

/* ---- reports */

struct reader {
	void (*seen)(void *ctx, const struct refused_packet *p);
	void *ctx;
};

static void
name_protocol(struct refused_packet *p, int protocol, const uint8_t *data,
    size_t len)
{
	uint16_t ports[2]; /* from, to: of TCP and UDP alike */

	p->protocol = protocol == IPPROTO_UDP                        ? "udp"
	    : protocol == IPPROTO_TCP                                ? "tcp"
	    : protocol == IPPROTO_ICMP || protocol == IPPROTO_ICMPV6 ? "icmp"
								     : "other";
	if ((protocol != IPPROTO_UDP && protocol != IPPROTO_TCP) ||
	    len < sizeof(ports))
		return;
	memcpy(ports, data, sizeof(ports));
	p->port = ntohs(ports[1]);
}

/* The headers were written by this kernel; only lengths are checked. */
static bool
read_packet(const uint8_t *data, size_t len, struct refused_packet *p)
{
	struct ip6_hdr v6;
	struct ip v4;

	*p = (struct refused_packet){ .port = 0 };
	if (len >= sizeof(v4) && data[0] >> 4 == 4) {
		size_t head_len;

		memcpy(&v4, data, sizeof(v4));
		head_len = (size_t)v4.ip_hl * 4;
		address_from(AF_INET, &v4.ip_dst, &p->to);
		if (head_len > len)
			return false;
		name_protocol(p, v4.ip_p, data + head_len, len - head_len);
		return true;
	}
	if (len >= sizeof(v6) && data[0] >> 4 == 6) {
		memcpy(&v6, data, sizeof(v6));
		address_from(AF_INET6, &v6.ip6_dst, &p->to);
		name_protocol(p, v6.ip6_nxt, data + sizeof(v6),
		    len - sizeof(v6));
		return true;
	}
	return false;
}

static int
on_attribute(const struct nlattr *a, void *ctx)
{
	struct reader *r = ctx;
	struct refused_packet p;

	if (mnl_attr_get_type(a) == NFULA_PAYLOAD &&
	    read_packet(mnl_attr_get_payload(a), mnl_attr_get_payload_len(a),
		&p))
		r->seen(r->ctx, &p);
	return MNL_CB_OK;
}

void
ruleset_read_log(const uint8_t *data, size_t len,
    void (*seen)(void *ctx, const struct refused_packet *p), void *ctx)
{
	struct reader r = { .seen = seen, .ctx = ctx };
	const struct nlmsghdr *m = (const struct nlmsghdr *)(const void *)data;
	int left = (int)len;

	for (; mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left))
		if (m->nlmsg_type ==
		    (NFNL_SUBSYS_ULOG << 8 | NFULNL_MSG_PACKET))
			mnl_attr_parse(m, sizeof(struct nfgenmsg), on_attribute,
			    &r);
}
