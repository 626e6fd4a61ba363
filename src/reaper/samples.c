/* samples.c: keeps the statistics of sessions. */
#include "reaper/samples.h"

#include "control/statistics.h"

void
samples_take(struct pass *p)
{
	struct err e = { 0 };

	if (p->dry_run)
		return;
	if (statistics_sample(p->ctl, p->deadline_ms, &e) < 0)
		pass_failed(p, "samples", &e);
	if (statistics_thin(p->ctl, p->deadline_ms, &e) < 0)
		pass_failed(p, "samples", &e);
}
