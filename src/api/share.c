/* share.c: no org may hold more than half of the workers for long. */
#include "api/share.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "common/clock.h"

enum { HANGS_AFTER_MS = 1000 };

struct place {
	_Atomic uint64_t tenant; /* hash; 0 = idle */
	_Atomic int64_t since_ms;
	_Atomic uint64_t waits_for; /* hash of the org; 0 = does not wait */
};

struct share {
	size_t workers;
	struct place place[];
};

struct share *
share_new(size_t workers)
{
	size_t size = sizeof(struct share) + workers * sizeof(struct place);
	struct share *s = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		abort();
	s->workers = workers;
	return s;
}

/* FNV-1a: a collision costs two orgs a shared allowance, nothing else. */
static uint64_t
hash_of(const char *tenant)
{
	uint64_t h = 14695981039346656037u;

	for (; *tenant != '\0'; tenant++)
		h = (h ^ (unsigned char)*tenant) * 1099511628211u;
	return h != 0 ? h : 1;
}

int
share_enter(struct share *s, size_t worker, const char *tenant, struct err *e)
{
	uint64_t me = hash_of(tenant);
	int64_t now = clock_ms();
	size_t hanging = 0;

	for (size_t i = 0; i < s->workers; i++)
		if (i != worker && atomic_load(&s->place[i].tenant) == me &&
		    now - atomic_load(&s->place[i].since_ms) > HANGS_AFTER_MS)
			hanging++;
	if (s->workers > 1 && hanging >= s->workers / 2)
		return err_set(e, ERR_LIMITED, "too_many_at_once",
		    "half of the workers are busy with calls of this org");
	atomic_store(&s->place[worker].since_ms, now);
	atomic_store(&s->place[worker].tenant, me);
	return 0;
}

static size_t
at_least_one(size_t n)
{
	return n > 0 ? n : 1;
}

bool
share_wait(struct share *s, size_t worker, const char *tenant)
{
	uint64_t me = hash_of(tenant);
	size_t most = at_least_one(s->workers / 4), all = 0, mine = 0;

	/* seen by the others first, then counted: two at once never slip in */
	atomic_store(&s->place[worker].waits_for, me);
	for (size_t i = 0; i < s->workers; i++) {
		uint64_t who = atomic_load(&s->place[i].waits_for);

		all += who != 0;
		mine += who == me;
	}
	if (s->workers > 1 && all <= most &&
	    mine <= at_least_one((most + 1) / 2))
		return true;
	atomic_store(&s->place[worker].waits_for, 0);
	return false;
}

void
share_leave(struct share *s, size_t worker)
{
	atomic_store(&s->place[worker].waits_for, 0);
	atomic_store(&s->place[worker].tenant, 0);
}
