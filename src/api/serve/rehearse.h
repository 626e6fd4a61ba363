/*
 * rehearse.h: has a worker's connection ready before its first request.
 */
#ifndef SANDLEASE_API_SERVE_REHEARSE_H
#define SANDLEASE_API_SERVE_REHEARSE_H

#include "api/app.h"

/*
 * Connects, and runs the statements of this pool's usual requests without an
 * effect, so that the first clients do not wait until they are planned.  After a
 * failure, which is logged, the first request connects.
 */
void rehearse(struct app *app);

#endif
