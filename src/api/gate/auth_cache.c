/* auth_cache.c: keeps what the database has answered to the pool `auth`. */
#include "api/gate/auth_cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

enum {
	WAYS = 4, /* places that a right may have */
	PORT_MAX = 6,
	TEXT_MAX = 192 /* an admission with a longer text is not kept */
};

struct entry {
	int64_t until_us; /* 0: empty */
	uint64_t tag;
	struct revocations_stamp stamp;
	char session[ID_SESSION_LEN + 1];
	char port[PORT_MAX];
	char hash[TOKEN_HASH_HEX_MAX];
	bool preview;
	char by[ID_MAX], text[TEXT_MAX];
	struct admission what; /* with the texts above */
};

struct auth_cache {
	const struct revocations *revocations;
	size_t sets;
	struct entry entry[];
};

struct auth_cache *
auth_cache_new(size_t entries, const struct revocations *r)
{
	size_t sets = entries / WAYS > 0 ? entries / WAYS : 1;
	struct auth_cache *a =
	    xcalloc(1, sizeof(*a) + sets * WAYS * sizeof(struct entry));

	a->revocations = r;
	a->sets = sets;
	return a;
}

void
auth_cache_free(struct auth_cache *a)
{
	free(a);
}

static uint64_t
mix(uint64_t h, const char *text)
{
	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u; /* FNV-1a */
	return h * 1099511628211u;
}

static uint64_t
tag_of(const struct auth_right *right)
{
	return mix(mix(mix(14695981039346656037u + right->preview,
			   right->session),
		       right->port),
	    right->hash);
}

static struct entry *
set_of(struct auth_cache *a, uint64_t tag)
{
	return &a->entry[(tag ^ tag >> 32) % a->sets * WAYS];
}

static bool
is_for(const struct entry *n, uint64_t tag, const struct auth_right *right)
{
	return n->tag == tag && n->preview == right->preview &&
	    str_equal(n->session, right->session) &&
	    str_equal(n->port, right->port) &&
	    token_equal(n->hash, right->hash);
}

const struct admission *
auth_cache_find(struct auth_cache *a, const struct auth_right *right,
    struct auth_lookup *l)
{
	uint64_t tag = tag_of(right);
	struct entry *set = set_of(a, tag);

	l->at_us = clock_us();
	/* first the time, then the counters: see revocations_prove() */
	l->fresh = revocations_are_fresh(a->revocations, l->at_us);
	revocations_read(a->revocations, right->session,
	    right->preview ? NULL : right->hash, &l->stamp);
	if (!l->fresh)
		return NULL;
	for (int i = 0; i < WAYS; i++)
		if (set[i].until_us > l->at_us && is_for(&set[i], tag, right))
			return revocations_unmoved(a->revocations,
				   &set[i].stamp)
			    ? &set[i].what
			    : NULL;
	return NULL;
}

/* The right's own place, or a free one, or the one that ends first. */
static struct entry *
place_for(struct auth_cache *a, uint64_t tag, const struct auth_right *right)
{
	struct entry *set = set_of(a, tag), *best = set;

	for (int i = 0; i < WAYS; i++) {
		if (is_for(&set[i], tag, right))
			return &set[i];
		if (set[i].until_us < best->until_us)
			best = &set[i];
	}
	return best;
}

void
auth_cache_keep(struct auth_cache *a, const struct auth_right *right,
    const struct auth_lookup *l, const struct admission *what, int64_t keep_ms)
{
	uint64_t tag = tag_of(right);
	struct entry *n;

	if (!l->fresh || keep_ms <= 0 ||
	    !revocations_unmoved(a->revocations, &l->stamp))
		return;
	n = place_for(a, tag, right);
	*n = (struct entry){ .tag = tag,
		.stamp = l->stamp,
		.preview = right->preview,
		.what = *what };
	n->what.by = n->by;
	n->what.text = n->text;
	if (str_copy(n->session, sizeof(n->session), right->session) &&
	    str_copy(n->port, sizeof(n->port), right->port) &&
	    str_copy(n->hash, sizeof(n->hash), right->hash) &&
	    str_copy(n->by, sizeof(n->by), what->by) &&
	    str_copy(n->text, sizeof(n->text), what->text))
		n->until_us = l->at_us + keep_ms * 1000;
}
