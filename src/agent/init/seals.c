/* seals.c: remembers which generations are over. */
#include "agent/init/seals.h"

#include "common/str.h"

/* The set of a session, by the hash FNV-1a. */
static size_t
set_of(const char *session)
{
	uint32_t h = 2166136261u;

	for (; *session != '\0'; session++)
		h = (h ^ (unsigned char)*session) * 16777619u;
	return h % SEAL_SETS;
}

static const struct seal *
find_seal(const struct seals *s, const char *session)
{
	const struct seal *set = s->seal[set_of(session)];

	for (size_t i = 0; i < SEAL_WAYS; i++)
		if (str_equal(set[i].session, session))
			return &set[i];
	return NULL;
}

/* The session's own entry, else a free one, else the oldest. */
static struct seal *
place_for(struct seals *s, const char *session)
{
	struct seal *set = s->seal[set_of(session)], *oldest = &set[0];

	for (size_t i = 0; i < SEAL_WAYS; i++) {
		if (str_equal(set[i].session, session))
			return &set[i];
		if (set[i].at_ms < oldest->at_ms) /* a free entry has 0 */
			oldest = &set[i];
	}
	return oldest;
}

void
seals_put(struct seals *s, const char *session, int64_t generation,
    int64_t now_ms)
{
	struct seal *at = place_for(s, session);

	if (!str_equal(at->session, session)) {
		if (at->at_ms > s->forgotten_ms)
			s->forgotten_ms = at->at_ms;
		*at = (struct seal){ .generation = 0 };
		str_copy(at->session, sizeof(at->session), session);
	}
	at->at_ms = now_ms;
	if (generation > at->generation)
		at->generation = generation;
}

int64_t
seals_get(const struct seals *s, const char *session)
{
	const struct seal *known = find_seal(s, session);

	return known != NULL ? known->generation : 0;
}

bool
seals_hold(const struct seals *s, const char *session, int64_t generation,
    int64_t intent_ms)
{
	return generation <= seals_get(s, session) ||
	    (s->forgotten_ms > 0 && intent_ms <= s->forgotten_ms);
}
