/* triggers.c: carries out triggers that are due. */
#include "reaper/triggers.h"

#include <stdio.h>

#include "common/mem.h"
#include "common/str.h"
#include "control/trigger_control.h"

enum { BATCH = 100 };

static void
fire_all(struct pass *p, const struct rows *r)
{
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		struct err e = { 0 };

		if (p->dry_run)
			printf("trigger: %s\n", rows_text(r, i, "id"));
		else if (trigger_fire(p->ctl, r, i, &e) < 0)
			pass_failed(p, "triggers", &e);
	}
}

void
triggers_fire(struct pass *p)
{
	struct pass_cursor from = { .at = "-infinity" };
	size_t n = BATCH;

	while (n == BATCH && pass_has_time(p)) {
		auto_rows struct rows *r = NULL;
		struct err e = { 0 };

		if (STORE_RUN(p->ctl->store, STMT_TRIGGERS_DUE, &r, &e, from.at,
			from.id, pass_number(BATCH).text) < 0) {
			pass_failed(p, "triggers", &e);
			return;
		}
		n = rows_count(r);
		p->scanned += (int64_t)n;
		fire_all(p, r);
		if (n > 0) {
			str_copy(from.at, sizeof(from.at),
			    rows_text(r, n - 1, "at"));
			str_copy(from.id, sizeof(from.id),
			    rows_text(r, n - 1, "id"));
		}
	}
}
