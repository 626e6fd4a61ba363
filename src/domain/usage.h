/*
 * usage.h: the processor time and memory that processes of a session, or of a
 * whole sandbox, use.
 *
 * Types only: provider/provider.h measures it.
 */
#ifndef SANDLEASE_DOMAIN_USAGE_H
#define SANDLEASE_DOMAIN_USAGE_H

#include <stdbool.h>
#include <stdint.h>

/* A number of -1 is not known; no number is ever guessed. */
struct usage {
	bool running;                    /* has processes, frozen or not */
	int64_t cpu_us;                  /* since its start */
	int64_t cpu_user_us, cpu_sys_us; /* the parts of it */
	int64_t memory_bytes;            /* now, without idle file cache */
	int64_t memory_peak_bytes;       /* since its start, with all cache */
	int64_t processes;               /* zombies not counted */
	int64_t threads;                 /* the limit of pids counts them */
};

#define USAGE_UNKNOWN                                                          \
	((struct usage){ .cpu_us = -1,                                         \
	    .cpu_user_us = -1,                                                 \
	    .cpu_sys_us = -1,                                                  \
	    .memory_bytes = -1,                                                \
	    .memory_peak_bytes = -1,                                           \
	    .processes = -1,                                                   \
	    .threads = -1 })

#endif
