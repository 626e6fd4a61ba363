/* pass.c: the time, failures and counts that the parts of a pass share. */
#include "reaper/pass.h"

#include <inttypes.h>
#include <stdio.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mem.h"

bool
pass_has_time(const struct pass *p)
{
	return clock_left_ms(p->deadline_ms) > 0;
}

void
pass_failed(struct pass *p, const char *part, const struct err *e)
{
	p->errors++;
	log_err(LOG_WARN, part, e);
}

struct pass_number
pass_number(int64_t n)
{
	struct pass_number out;

	snprintf(out.text, sizeof(out.text), "%" PRId64, n);
	return out;
}

json_t *
pass_summary(const struct pass *p)
{
	const struct {
		const char *name;
		int64_t value;
	} FIGURES[] = {
		{ "scanned", p->scanned },
		{ "stopped", p->stopped },
		{ "slept", p->slept },
		{ "deleted", p->deleted },
		{ "failedStarts", p->failed_starts },
		{ "orphans", p->orphans },
		{ "stuck", p->stuck },
		{ "old", p->old },
		{ "sandboxGone", p->gone },
		{ "retired", p->retired },
		{ "leaked", p->leaked },
		{ "removed", p->removed },
		{ "failures", p->errors },
	};
	json_t *o = json_object();

	for (size_t i = 0; i < ARRAY_LEN(FIGURES); i++)
		json_object_set_new(o, FIGURES[i].name,
		    json_integer(FIGURES[i].value));
	if (p->next[0] != '\0')
		json_object_set_new(o, "next", json_string(p->next));
	return o;
}
