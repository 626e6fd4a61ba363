/* samples.h: keeps the statistics of sessions. */
#ifndef SANDLEASE_REAPER_SAMPLES_H
#define SANDLEASE_REAPER_SAMPLES_H

#include "reaper/pass.h"

/* Measures what runs on this host, and makes old samples fewer. */
void samples_take(struct pass *p);

#endif
