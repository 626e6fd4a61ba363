/*
 * standin.h: gives each name that a session may reach an address of its own.
 *
 * The addresses are those of 198.18.0.0/15, which no host of the Internet has.
 * A sandbox resolves a name to its stand-in; the address to which a connection
 * was made then says which name was meant.  A name has the same stand-in in
 * every table that has no other name in the way, so that an address which a
 * program has kept still means the same name after a restart of egress.
 */
#ifndef SANDLEASE_EGRESS_BASE_STANDIN_H
#define SANDLEASE_EGRESS_BASE_STANDIN_H

#include <netinet/in.h>
#include <stddef.h>
#include <stdint.h>

#include "common/address.h"
#include "domain/network.h"

enum { STANDINS_MAX = 4096 }; /* names of one session */

/* The stand-ins of one session.  Start with { 0 }. */
struct standins {
	struct standin *slots; /* owned; a hash table by address */
	size_t size, count;
};

/*
 * The stand-in of a name, in the form of network_host(); a new one if it has
 * none.  NULL: the session has too many.  The pointer is valid until the next
 * call.
 */
const struct in_addr *standin_of(struct standins *t, const char *host);

/* The name whose stand-in this is; NULL: it was not given to any. */
const char *standin_name(const struct standins *t, struct in_addr address);

/* The same for an address of 198.18.0.0/15. */
const char *standin_at(const struct standins *t, const struct address *a);

void standins_free(struct standins *t);

#endif
