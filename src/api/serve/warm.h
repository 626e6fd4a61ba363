/*
 * warm.h: the process that fills the warm pool.
 */
#ifndef SANDLEASE_API_SERVE_WARM_H
#define SANDLEASE_API_SERVE_WARM_H

#include "common/conf.h"

/* Called by the master, before it starts the first child. */
void warm_open(void);

/* Called by a worker after the answer to a create that wanted a member. */
void warm_tell(void);

int warm_run(const struct conf *conf);

#endif
