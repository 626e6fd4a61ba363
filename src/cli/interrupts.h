/*
 * interrupts.h: reads signals from a descriptor, for use with poll().
 *
 * These are the signals that would end the program, and SIGWINCH.  The program
 * reacts to them between two steps, and never in a signal handler.
 */
#ifndef SANDLEASE_CLI_INTERRUPTS_H
#define SANDLEASE_CLI_INTERRUPTS_H

#include "common/err.h"

/* Opens the descriptor.  From now on these signals do not end the process. */
int interrupts_open(struct err *e) MUST_CHECK;

/* The number of the next signal; 0: none has come. */
int interrupts_next(int fd);

/* The same, but SIGWINCH counts as none. */
int interrupts_end(int fd);

/* The name of signal `number`, such as "INT". */
const char *interrupts_name(int number);

#endif
