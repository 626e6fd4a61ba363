/* standin.c: gives each name that a session may reach an address of its own. */
#include "egress/base/standin.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#include "common/mem.h"
#include "common/str.h"

enum {
	BASE = 0xc6120000,   /* 198.18.0.0 */
	ADDRESSES = 1 << 17, /* of a /15 */
	/* 198.18.0.0 and .1, which the loopback device has, and broadcast */
	FIRST = 2,
	LAST = ADDRESSES - 2,
	SIZE_FIRST = 16
};

struct standin {
	char *name; /* owned; NULL: the slot is free */
	struct in_addr address;
};

/* FNV-1a.  A tenant who makes names collide slows down its own table only. */
static uint32_t
hash(const char *s)
{
	uint32_t h = 2166136261U;

	for (; *s != '\0'; s++)
		h = (h ^ (unsigned char)*s) * 16777619U;
	return h;
}

static uint32_t
next_offset(uint32_t offset)
{
	return offset == LAST ? FIRST : offset + 1;
}

static struct in_addr
address_at(uint32_t offset)
{
	return (struct in_addr){ .s_addr = htonl(BASE + offset) };
}

/* The slot that has the address, or the free one where it belongs. */
static struct standin *
find_slot(const struct standins *t, struct in_addr address)
{
	size_t i = (ntohl(address.s_addr) * 2654435761U) & (t->size - 1);

	while (t->slots[i].name != NULL &&
	    t->slots[i].address.s_addr != address.s_addr)
		i = (i + 1) & (t->size - 1);
	return &t->slots[i];
}

static void
grow(struct standins *t)
{
	struct standins larger = { .size =
				       t->size > 0 ? t->size * 2 : SIZE_FIRST,
		.count = t->count };

	larger.slots = xcalloc(larger.size, sizeof(*larger.slots));
	for (size_t i = 0; i < t->size; i++)
		if (t->slots[i].name != NULL)
			*find_slot(&larger, t->slots[i].address) = t->slots[i];
	free(t->slots);
	*t = larger;
}

const struct in_addr *
standin_of(struct standins *t, const char *host)
{
	uint32_t offset = FIRST + hash(host) % (LAST - FIRST + 1);
	struct standin *s;

	if (2 * (t->count + 1) > t->size)
		grow(t);
	for (;; offset = next_offset(offset)) {
		s = find_slot(t, address_at(offset));
		if (s->name == NULL)
			break;
		if (str_equal(s->name, host))
			return &s->address;
	}
	if (t->count == STANDINS_MAX)
		return NULL;
	*s = (struct standin){ .name = xstrdup(host),
		.address = address_at(offset) };
	t->count++;
	return &s->address;
}

const char *
standin_name(const struct standins *t, struct in_addr address)
{
	return t->size > 0 ? find_slot(t, address)->name : NULL;
}

const char *
standin_at(const struct standins *t, const struct address *a)
{
	struct in_addr v4;

	memcpy(&v4, &a->ip.s6_addr[12], sizeof(v4));
	return standin_name(t, v4);
}

void
standins_free(struct standins *t)
{
	for (size_t i = 0; i < t->size; i++)
		free(t->slots[i].name);
	free(t->slots);
	*t = (struct standins){ 0 };
}
