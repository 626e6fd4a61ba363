/* network_link.c: reads sessions' networks and asks for their sockets. */
#include "control/network_link.h"

#include <string.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/network.h"
#include "provider/link/link.h"

/* The ports that are served in a session that may reach every host. */
static const uint16_t COMMON_PORTS[] = { 21, 22, 25, 80, 110, 143, 443, 465,
	587, 993, 995, 1433, 3306, 5432, 5671, 5672, 6379, 6443, 8000, 8080,
	8443, 8883, 9000, 9092, 9200, 9418, 27017 };

void
network_row_free(struct network_row *n)
{
	json_decref(TAKE(n->policies));
	json_decref(TAKE(n->secrets));
}

static void
add_address(struct network_row *n, const char *host)
{
	if (!network_is_address(host))
		return;
	if (n->address_count == NETWORK_ADDRESSES_MAX)
		n->many = true;
	else if (str_copy(n->addresses[n->address_count], NETWORK_ADDRESS_MAX,
		     host))
		n->address_count++;
}

/* The ports that any of the policies names; those in common if all are open. */
static void
find_ports(struct network_row *n)
{
	auto_policy struct network_policy all = { .mode = NETWORK_ALLOW };
	size_t i;
	json_t *v;

	n->open = true;
	json_array_foreach(n->policies, i, v)
	{
		auto_policy struct network_policy p = { 0 };
		struct err ignored;

		/* one that cannot be read allows nothing: so does serve */
		if (network_policy_decode(v, &p, &ignored) < 0 ||
		    p.mode == NETWORK_OPEN)
			continue;
		n->open = false;
		all.rules = xrealloc(all.rules,
		    (all.count + p.count + 1) * sizeof(*all.rules));
		memcpy(all.rules + all.count, p.rules,
		    p.count * sizeof(*p.rules));
		all.count += p.count;
	}
	n->port_count = network_ports(&all, n->ports, ARRAY_LEN(n->ports));
	n->many = n->port_count > NETWORK_PORTS_MAX;
	if (n->many)
		n->port_count = NETWORK_PORTS_MAX;
	for (i = 0; i < all.count; i++)
		add_address(n, all.rules[i].host);
	if (!n->open)
		return;
	memcpy(n->ports, COMMON_PORTS, sizeof(COMMON_PORTS));
	n->port_count = ARRAY_LEN(COMMON_PORTS);
}

int
network_row_read(struct control *ctl, const struct rows *r, size_t row,
    struct network_row *out, struct err *e)
{
	*out = (struct network_row){ .target = row_target(r, row),
		.any = rows_bool(r, row, "any") };
	str_copy(out->tenant, sizeof(out->tenant), rows_text(r, row, "tenant"));
	if (rows_json(r, row, "policies", &out->policies, e) < 0 ||
	    control_unseal(ctl, out->target.session, "secrets",
		rows_text(r, row, "secrets_sealed"), &out->secrets, e) < 0) {
		network_row_free(out);
		return err_wrap(e, "network of session %s",
		    out->target.session);
	}
	find_ports(out);
	return 0;
}

int
network_link(struct control *ctl, const struct network_row *n, bool base,
    const struct network_filter *filter, struct err *e)
{
	auto_json json_t *ports = json_array();
	const struct agent_network ask = { .base = base,
		.rules = filter->rules,
		.log = filter->log,
		.open = n->open,
		.ports = ports };

	for (size_t i = 0; i < n->port_count; i++)
		json_array_append_new(ports, json_integer(n->ports[i]));
	return agent_network(&ctl->provider, &n->target, &ask, e);
}
