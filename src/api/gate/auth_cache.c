/* auth_cache.c: keeps what the database has answered to the pool `auth`. */
#include "api/gate/auth_cache.h"

#include <stdlib.h>
#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

enum {
	WAYS = 16, /* places that a right may have; tags of two cache lines */
	HASH_PART = 16,
	PORT_MAX = 6,
	UPSTREAM_MAX = 128, /* "unix:" and the name of a socket */
	TEXT_MAX = 192      /* an admission with a longer text is not kept */
};

struct entry {
	int64_t until_us; /* 0: empty */
	struct revocations_stamp stamp;
	char session[ID_SESSION_LEN + 1];
	char port[PORT_MAX];
	char hash[TOKEN_HASH_HEX_MAX];
	bool preview;
	char upstream[UPSTREAM_MAX], by[ID_MAX], text[TEXT_MAX];
	struct admission what; /* with the texts above */
};

struct auth_cache {
	const struct revocations *revocations;
	size_t sets;
	uint64_t *tag; /* of each entry; to find it without a look at others */
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
	a->tag = xcalloc(sets * WAYS, sizeof(*a->tag));
	return a;
}

void
auth_cache_free(struct auth_cache *a)
{
	if (a != NULL)
		free(a->tag);
	free(a);
}

/* FNV-1a of at most `len` bytes. */
static uint64_t
mix(uint64_t h, const char *text, size_t len)
{
	for (size_t i = 0; i < len && text[i] != '\0'; i++)
		h = (h ^ (unsigned char)text[i]) * 1099511628211u;
	return h * 1099511628211u;
}

/* Finds an entry; is_for() then compares all of it. */
static uint64_t
tag_of(const struct auth_right *right)
{
	uint64_t h = 14695981039346656037u + right->preview;

	h = mix(h, right->session, ID_SESSION_LEN);
	h = mix(h, right->port, PORT_MAX);
	return mix(h, right->hash, HASH_PART);
}

/* The number of the first entry of the right's set. */
static size_t
set_of(const struct auth_cache *a, uint64_t tag)
{
	return (tag ^ tag >> 32) % a->sets * WAYS;
}

static bool
is_for(const struct entry *n, const struct auth_right *right)
{
	return n->preview == right->preview &&
	    str_equal(n->session, right->session) &&
	    str_equal(n->port, right->port) &&
	    token_equal(n->hash, right->hash);
}

/* The right's entry, whether it still counts or not; NULL: it has none. */
static struct entry *
entry_of(struct auth_cache *a, uint64_t tag, const struct auth_right *right)
{
	size_t first = set_of(a, tag);

	for (size_t i = first; i < first + WAYS; i++)
		if (a->tag[i] == tag && is_for(&a->entry[i], right))
			return &a->entry[i];
	return NULL;
}

/* The entry's answer counts now. */
static bool
holds(const struct auth_cache *a, const struct entry *n, int64_t now_us)
{
	return n->until_us > now_us &&
	    revocations_unmoved(a->revocations, &n->stamp);
}

const struct admission *
auth_cache_find(struct auth_cache *a, const struct auth_right *right,
    struct auth_lookup *l)
{
	const struct entry *n;

	l->at_us = clock_us();
	/* first the time, then the counters: see revocations_prove() */
	l->fresh = revocations_are_fresh(a->revocations, l->at_us);
	n = l->fresh ? entry_of(a, tag_of(right), right) : NULL;
	if (n != NULL && holds(a, n, l->at_us)) {
		l->fresh = false;
		return &n->what;
	}
	revocations_read(a->revocations, right->session,
	    right->preview ? NULL : right->hash, &l->stamp);
	return NULL;
}

/* A free entry of the right's set, or the one that ends first. */
static struct entry *
make_room(struct auth_cache *a, uint64_t tag)
{
	size_t first = set_of(a, tag), best = first;

	for (size_t i = first; i < first + WAYS; i++)
		if (a->entry[i].until_us < a->entry[best].until_us)
			best = i;
	a->tag[best] = tag;
	return &a->entry[best];
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
	n = entry_of(a, tag, right);
	if (n == NULL)
		n = make_room(a, tag);
	*n = (struct entry){ .stamp = l->stamp,
		.preview = right->preview,
		.what = *what };
	n->what.upstream = n->upstream;
	n->what.by = n->by;
	n->what.text = n->text;
	if (str_copy(n->session, sizeof(n->session), right->session) &&
	    str_copy(n->port, sizeof(n->port), right->port) &&
	    str_copy(n->hash, sizeof(n->hash), right->hash) &&
	    str_copy(n->upstream, sizeof(n->upstream), what->upstream) &&
	    str_copy(n->by, sizeof(n->by), what->by) &&
	    str_copy(n->text, sizeof(n->text), what->text))
		n->until_us = l->at_us + keep_ms * 1000;
}
