/* org_share.c: limits how many workers of a pool one org may hold. */
#include "api/org_share.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common/clock.h"
#include "common/mem.h"

enum {
	OVER_MS = 2000,    /* hold time of a call beyond the share */
	CREDIT_MS = 10000, /* worker time beyond the share */
	ALONE_MS = 60000,  /* no call of another org for so long */
	MUTE_S = 5,        /* no worker asks a silent wrapper for so long */
	ORGS = 256,
	MUTES = 1024
};

struct place {
	_Atomic uint64_t tenant; /* hash; 0 = idle */
	_Atomic int64_t since_ms;
	_Atomic bool over;          /* beyond the share of its org */
	_Atomic uint64_t waits_for; /* hash of the org; 0 = does not wait */
};

struct org_share {
	_Atomic uint64_t last;      /* the org of the latest call */
	_Atomic int64_t changed_ms; /* when `last` last changed; 0: never */
	/* by hash of the org: when its debt will be paid back */
	_Atomic int64_t paid_ms[ORGS];
	/* by hash of a wrapper: upper half of the hash, and end of the mute
	 * time in seconds */
	_Atomic uint64_t mute[MUTES];
	size_t workers;
	struct place place[];
};

struct org_share *
org_share_new(size_t workers)
{
	size_t size = sizeof(struct org_share) + workers * sizeof(struct place);
	struct org_share *s = mmap(NULL, size, PROT_READ | PROT_WRITE,
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (s == MAP_FAILED)
		abort();
	s->workers = workers;
	return s;
}

/* FNV-1a; two orgs whose hashes collide share one allowance. */
static uint64_t
hash_of(const char *text)
{
	uint64_t h = 14695981039346656037u;

	for (; *text != '\0'; text++)
		h = (h ^ (unsigned char)*text) * 1099511628211u;
	return h != 0 ? h : 1;
}

static size_t
at_least_one(size_t n)
{
	return n > 0 ? n : 1;
}

/* ---- calls in progress */

static size_t
others_at_work(const struct org_share *s, size_t worker, uint64_t tenant)
{
	size_t n = 0;

	for (size_t i = 0; i < s->workers; i++)
		n += i != worker && atomic_load(&s->place[i].tenant) == tenant;
	return n;
}

/* The worker time that the org has used beyond its share and not paid back. */
static int64_t
debt_ms(const struct org_share *s, uint64_t tenant, int64_t now)
{
	int64_t paid = atomic_load(&s->paid_ms[tenant % ORGS]);
	int64_t debt = paid > now ? paid - now : 0;

	for (size_t i = 0; i < s->workers; i++)
		if (atomic_load(&s->place[i].tenant) == tenant &&
		    atomic_load(&s->place[i].over))
			debt += now - atomic_load(&s->place[i].since_ms);
	return debt;
}

static void
charge(struct org_share *s, uint64_t tenant, int64_t now, int64_t ms)
{
	_Atomic int64_t *paid = &s->paid_ms[tenant % ORGS];
	int64_t was = atomic_load(paid), then;

	do
		then = (was > now ? was : now) + ms;
	while (!atomic_compare_exchange_weak(paid, &was, then));
}

/* Notes a call of the org; true: no other org has called for ALONE_MS. */
static bool
is_alone(struct org_share *s, uint64_t tenant, int64_t now)
{
	uint64_t last = atomic_exchange(&s->last, tenant);
	int64_t changed;

	if (last != 0 && last != tenant)
		atomic_store(&s->changed_ms, now);
	changed = atomic_load(&s->changed_ms);
	return changed == 0 || now - changed >= ALONE_MS;
}

int
org_share_enter(struct org_share *s, size_t worker, const char *tenant,
    enum share_call call, int64_t *hold_ms, struct err *e)
{
	struct place *p = &s->place[worker];
	uint64_t me = hash_of(tenant);
	int64_t now = clock_ms();
	bool alone = is_alone(s, me, now);

	*hold_ms = SHARE_HOLD_ANY;
	/* write the entry, then count: two calls at once see each other */
	atomic_store(&p->since_ms, now);
	atomic_store(&p->over, false);
	atomic_store(&p->tenant, me);
	if (call == SHARE_READS || s->workers == 1 ||
	    others_at_work(s, worker, me) < s->workers / 2)
		return 0;
	if (call == SHARE_MAY_LAST ||
	    (!alone && debt_ms(s, me, now) >= CREDIT_MS)) {
		org_share_leave(s, worker);
		return err_set(e, ERR_UNAVAILABLE, CODE_TOO_MANY_AT_ONCE,
		    "half of the workers are busy with calls of this org; try again soon");
	}
	atomic_store(&p->over, true);
	*hold_ms = OVER_MS;
	return 0;
}

void
org_share_leave(struct org_share *s, size_t worker)
{
	struct place *p = &s->place[worker];
	int64_t now = clock_ms();

	if (atomic_exchange(&p->over, false))
		charge(s, atomic_load(&p->tenant), now,
		    now - atomic_load(&p->since_ms));
	atomic_store(&p->waits_for, 0);
	atomic_store(&p->tenant, 0);
}

/* ---- calls that only wait */

/* Whether `all` calls, and `mine` of this org, may wait at once. */
static bool
have_room(const struct org_share *s, enum org_share_wait what, size_t all,
    size_t mine)
{
	size_t quarter = at_least_one(s->workers / 4);

	switch (what) {
	case SHARE_EVENT:
		return s->workers > 1 && all <= quarter &&
		    mine <= at_least_one((quarter + 1) / 2);
	case SHARE_ANSWER:
		return all <= at_least_one(s->workers - quarter) &&
		    mine <= at_least_one(s->workers / 2);
	}
	return false;
}

bool
org_share_wait(struct org_share *s, size_t worker, const char *tenant,
    enum org_share_wait what)
{
	uint64_t me = hash_of(tenant);
	size_t all = 0, mine = 0;

	atomic_store(&s->place[worker].waits_for, me);
	for (size_t i = 0; i < s->workers; i++) {
		uint64_t who = atomic_load(&s->place[i].waits_for);

		all += who != 0;
		mine += who == me;
	}
	if (have_room(s, what, all, mine))
		return true;
	atomic_store(&s->place[worker].waits_for, 0);
	return false;
}

/* ---- wrappers that do not answer */

static const uint64_t UPPER = UINT64_MAX << 32;

void
org_share_mute(struct org_share *s, const char *wrapper)
{
	uint64_t h = hash_of(wrapper);
	uint32_t until = (uint32_t)(clock_ms() / 1000) + MUTE_S;

	atomic_store(&s->mute[h % MUTES], (h & UPPER) | until);
}

bool
org_share_is_mute(const struct org_share *s, const char *wrapper)
{
	uint64_t h = hash_of(wrapper);
	uint64_t is = atomic_load(&s->mute[h % MUTES]);

	return (is & UPPER) == (h & UPPER) &&
	    (uint32_t)(clock_ms() / 1000) < (uint32_t)is;
}
