/*
 * interrupts.h: signals as something to wait for.
 *
 * Those that would end us, and a terminal's new size, are read from a
 * descriptor: what there is to do is done between two steps, not within one.
 */
#ifndef SANDLEASE_CLI_INTERRUPTS_H
#define SANDLEASE_CLI_INTERRUPTS_H

#include "common/err.h"

/* The descriptor; from now on no such signal ends the process. */
int interrupts_open(struct err *e) MUST_CHECK;

/* The number of the next signal; 0 when there is none. */
int interrupts_next(int fd);

/* The same, but for those that end nothing. */
int interrupts_end(int fd);

/* "INT" */
const char *interrupts_name(int number);

#endif
