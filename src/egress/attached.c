/* attached.c: the sessions that the serving process has. */
#include <stdlib.h>

#include "common/mem.h"
#include "common/str.h"
#include "egress/process.h"

void
attached_forget(struct rows_process *p)
{
	struct attached *a;

	while ((a = TAILQ_FIRST(&p->attached)) != NULL) {
		TAILQ_REMOVE(&p->attached, a, link);
		free(a);
	}
}

struct attached *
attached_find(struct rows_process *p, const char *session)
{
	struct attached *a = TAILQ_FIRST(&p->attached);

	while (a != NULL && !str_equal(a->session, session))
		a = TAILQ_NEXT(a, link);
	return a;
}

void
attached_set(struct rows_process *p, const char *session, int64_t generation)
{
	struct attached *a = attached_find(p, session);

	if (a == NULL) {
		a = xcalloc(1, sizeof(*a));
		str_copy(a->session, sizeof(a->session), session);
		TAILQ_INSERT_TAIL(&p->attached, a, link);
	}
	a->generation = generation;
}

void
attached_drop(struct rows_process *p, const char *session, int64_t generation)
{
	struct attached *a = attached_find(p, session);

	if (a == NULL || a->generation != generation)
		return;
	TAILQ_REMOVE(&p->attached, a, link);
	free(a);
}
