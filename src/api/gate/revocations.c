/* revocations.c: tells the workers of the pool `auth` which rights have ended. */
#include "api/gate/revocations.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * A tenant that ends a hundred rights a second moves any one counter of others
 * every 40 s.
 */
enum { SLOTS = 4096 };

struct revocations {
	_Atomic int64_t asked_us; /* 0: nobody listens */
	_Atomic uint64_t all;
	_Atomic uint64_t count[SLOTS];
};

struct revocations *
revocations_new(void)
{
	struct revocations *r = mmap(NULL, sizeof(*r), PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (r == MAP_FAILED)
		abort();
	return r;
}

void
revocations_protect(struct revocations *r)
{
	if (mprotect(r, sizeof(*r), PROT_READ) < 0)
		abort();
}

/* FNV-1a of at most `len` bytes. */
static uint16_t
slot_of(const char *name, size_t len)
{
	uint64_t h = 14695981039346656037u;

	for (size_t i = 0; i < len && name[i] != '\0'; i++)
		h = (h ^ (unsigned char)name[i]) * 1099511628211u;
	return (uint16_t)((h ^ h >> 32) % SLOTS);
}

void
revocations_end_all(struct revocations *r)
{
	atomic_fetch_add(&r->all, 1);
}

void
revocations_end(struct revocations *r, const char *name)
{
	if (name[0] == '\0')
		revocations_end_all(r);
	else
		atomic_fetch_add(&r->count[slot_of(name, strlen(name))], 1);
}

void
revocations_prove(struct revocations *r, int64_t asked_us)
{
	atomic_store(&r->asked_us, asked_us);
}

bool
revocations_are_fresh(const struct revocations *r, int64_t now_us)
{
	int64_t asked_us = atomic_load(&r->asked_us);

	return asked_us != 0 && now_us - asked_us <= REVOCATIONS_FRESH_US;
}

void
revocations_read(const struct revocations *r, const char *session,
    const char *key_hash, struct revocations_stamp *out)
{
	out->slot[0] = slot_of(session, SIZE_MAX);
	out->slot[1] = key_hash != NULL ? slot_of(key_hash, REVOCATIONS_KEY_LEN)
					: out->slot[0];
	out->all = atomic_load(&r->all);
	for (int i = 0; i < 2; i++)
		out->count[i] = atomic_load(&r->count[out->slot[i]]);
}

bool
revocations_unmoved(const struct revocations *r,
    const struct revocations_stamp *s)
{
	return atomic_load(&r->all) == s->all &&
	    atomic_load(&r->count[s->slot[0]]) == s->count[0] &&
	    atomic_load(&r->count[s->slot[1]]) == s->count[1];
}
