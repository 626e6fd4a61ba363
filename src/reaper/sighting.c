/* sighting.c: notes things on a host that no row explains. */
#include "reaper/sighting.h"

#include "common/mem.h"

static int
add_sighting(struct pass *p, const char *thing, int64_t seconds, bool *ripe,
    struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_free char *list = control_spec_text(json_pack("[s]", thing));

	*ripe = false;
	if (STORE_RUN(p->ctl->store, STMT_SIGHTINGS, &r, e,
		p->ctl->conf->host_name, list, pass_number(seconds).text) < 0)
		return -1;
	*ripe = rows_count(r) == 1 && rows_bool(r, 0, "ripe");
	return 0;
}

int
sighting_add(struct pass *p, const char *thing, bool *ripe, struct err *e)
{
	return add_sighting(p, thing, p->ctl->conf->sighting_seconds, ripe, e);
}

int
sighting_again(struct pass *p, const char *thing, bool *before, struct err *e)
{
	return add_sighting(p, thing, 0, before, e);
}

int
sighting_end(struct pass *p, const char *thing, struct err *e)
{
	return STORE_RUN(p->ctl->store, STMT_SIGHTING_OVER, NULL, e,
	    p->ctl->conf->host_name, thing);
}

void
sighting_end_others(struct pass *p, const char *kind, const char *since)
{
	struct err e = { 0 };

	if (!p->dry_run &&
	    STORE_RUN(p->ctl->store, STMT_SIGHTINGS_OVER, NULL, &e,
		p->ctl->conf->host_name, kind, since) < 0)
		pass_failed(p, "reconcile", &e);
}
