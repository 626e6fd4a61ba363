/* snapshots.c: finishes snapshots whose worker did not come back. */
#include "reaper/snapshots.h"

#include <stdio.h>

#include "common/mem.h"
#include "common/str.h"
#include "control/inventory.h"
#include "control/snapshot_control.h"
#include "reaper/sighting.h"

enum { BATCH = 200 };

/* Marks snapshots as deleted that are past their time or failed long ago. */
static void
expire_snapshots(struct pass *p)
{
	const struct conf *conf = p->ctl->conf;
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (p->dry_run)
		return;
	if (STORE_RUN(p->ctl->store, STMT_SNAPSHOTS_EXPIRE, &r, &e,
		pass_number(conf->snapshot_days).text,
		pass_number(conf->failed_files_seconds).text,
		pass_number(BATCH).text) < 0)
		pass_failed(p, "snapshots", &e);
	else
		p->scanned += (int64_t)rows_count(r);
}

static void
settle_one(struct pass *p, const struct rows *r, size_t i)
{
	const char *tenant = rows_text(r, i, "tenant");
	const char *id = rows_text(r, i, "id");
	struct err e = { 0 };
	int rc;

	if (p->dry_run) {
		printf("snapshots: %s\n", id);
		return;
	}
	if (str_equal(rows_text(r, i, "state"), "creating"))
		rc = snapshot_settle(p->ctl, tenant, id,
		    rows_bool(r, i, "overdue"), &e);
	else
		rc = snapshot_finish(p->ctl, tenant, id, &e);
	/* a snapshot that is still being written waits for the next pass */
	if (rc < 0 && e.kind != ERR_BUSY)
		pass_failed(p, "snapshots", &e);
}

void
snapshots_clear(struct pass *p)
{
	char after[ID_MAX] = "";
	size_t n = BATCH;

	expire_snapshots(p);
	while (n == BATCH && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };

		if (STORE_RUN(p->ctl->store, STMT_SNAPSHOTS_UNSETTLED, &r, &e,
			p->ctl->conf->host_name, after,
			pass_number(BATCH).text) < 0) {
			pass_failed(p, "snapshots", &e);
			return;
		}
		n = rows_count(r);
		p->scanned += (int64_t)n;
		for (size_t i = 0; i < n && pass_has_time(p); i++)
			settle_one(p, r, i);
		if (n > 0)
			str_copy(after, sizeof(after),
			    rows_text(r, n - 1, "id"));
	}
}

static void
drop_files(struct pass *p, const struct rows *r, size_t i)
{
	const char *id = rows_text(r, i, "id");
	bool known = rows_bool(r, i, "known"), ripe = known;
	auto_free char *thing = xasprintf("%s%s", SIGHTING_SNAPSHOT, id);
	struct err e = { 0 };

	if (p->dry_run) {
		printf("snapshot: %s\n", id);
		return;
	}
	if (!known && sighting_add(p, thing, &ripe, &e) < 0) {
		pass_failed(p, "snapshots", &e);
		return;
	}
	p->leaked += !known;
	if (!ripe)
		return;
	if (inventory_drop_snapshot(p->ctl, rows_text(r, i, "owner"), id, &e) ==
		0 &&
	    (known || sighting_end(p, thing, &e) == 0))
		p->removed++;
	else if (e.kind != ERR_BUSY)
		pass_failed(p, "snapshots", &e);
}

/* Corrects rows that contradict the list of directories, `seen`. */
static void
correct_rows(struct pass *p, const char *seen)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_SNAPSHOTS_MISPLACED, &r, &e,
		p->ctl->conf->host_name, seen, pass_number(BATCH).text) < 0) {
		pass_failed(p, "snapshots", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		const char *id = rows_text(r, i, "id");

		if (p->dry_run)
			printf("snapshot files: %s\n", id);
		else if (snapshot_verify(p->ctl, rows_text(r, i, "tenant"), id,
			     &e) < 0)
			pass_failed(p, "snapshots", &e);
	}
}

void
snapshots_leftovers(struct pass *p, const char *since)
{
	auto_json json_t *seen = NULL;
	auto_rows struct rows *r = NULL;
	auto_free char *text = NULL;
	struct err e = { 0 };
	int rc = inventory_snapshots(p->ctl, &seen, &e);

	p->scanned += (int64_t)json_array_size(seen);
	if (rc == 0) {
		text = json_text(seen);
		rc = STORE_RUN(p->ctl->store, STMT_SNAPSHOT_DIFFERENCES, &r, &e,
		    text);
	}
	if (rc < 0) {
		pass_failed(p, "snapshots", &e);
		return;
	}
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++)
		drop_files(p, r, i);
	correct_rows(p, text);
	if (pass_has_time(p))
		sighting_end_others(p, SIGHTING_SNAPSHOT, since);
}
