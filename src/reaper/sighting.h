/*
 * sighting.h: notes things on a host that no row explains.
 *
 * Such a thing is removed only when it was seen twice over some time.
 */
#ifndef SANDLEASE_REAPER_SIGHTING_H
#define SANDLEASE_REAPER_SIGHTING_H

#include "reaper/pass.h"

/* Kinds of things; a thing's name begins with one. */
#define SIGHTING_SANDBOX "sandbox:"
#define SIGHTING_CELL "cell:"
#define SIGHTING_STORAGE "storage:"
#define SIGHTING_SOCKET "socket:"
#define SIGHTING_SNAPSHOT "snapshot:"
#define SIGHTING_SILENT "silent:" /* a wrapper: it is stopped, not removed */

/* Notes a thing; *ripe: it was seen often and long enough. */
int sighting_add(struct pass *p, const char *thing, bool *ripe, struct err *e)
    MUST_CHECK;

/* Notes a thing; *before: it had been noted already. */
int sighting_again(struct pass *p, const char *thing, bool *before,
    struct err *e) MUST_CHECK;

/* Forgets a thing that was removed. */
int sighting_end(struct pass *p, const char *thing, struct err *e) MUST_CHECK;

/*
 * After a complete look: forgets the things of a kind not seen since `since`.
 */
void sighting_end_others(struct pass *p, const char *kind, const char *since);

#endif
