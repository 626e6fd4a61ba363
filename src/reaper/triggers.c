/* triggers.c: carries out triggers that are due. */
#include "reaper/triggers.h"

#include <stdio.h>

#include "common/mem.h"
#include "control/trigger_control.h"

enum { TRIGGERS_MAX = 1000 }; /* in one go; the next takes the others */

void
triggers_fire(struct pass *p)
{
	auto_rows struct rows *r = NULL;
	struct err e = { 0 };

	if (STORE_RUN(p->ctl->store, STMT_TRIGGERS_DUE, &r, &e,
		pass_number(TRIGGERS_MAX).text) < 0) {
		pass_failed(p, "triggers", &e);
		return;
	}
	p->scanned += (int64_t)rows_count(r);
	for (size_t i = 0; i < rows_count(r) && pass_has_time(p); i++) {
		const char *id = rows_text(r, i, "id");

		e = (struct err){ 0 };
		if (p->dry_run)
			printf("trigger: %s\n", id);
		else if (trigger_fire(p->ctl, id, rows_text(r, i, "at"), &e) <
		    0)
			pass_failed(p, "triggers", &e);
	}
}
