/*
 * ask.h: asks the user a question on the terminal and reads the answer.
 */
#ifndef SANDLEASE_CLI_ASK_H
#define SANDLEASE_CLI_ASK_H

#include <stdbool.h>

#include "common/str.h"

/* True if standard input is a terminal, so that a user can answer. */
bool ask_possible(void);

/* Prints the question; true if the answer begins with y or Y. */
bool ask_yes(const char *question);

/*
 * Reads a line of standard input, at most 4096 bytes, without its newline.  On
 * a terminal it first prints the question; with `secret` the terminal does not
 * show what the user types.  False if the line is empty or missing.
 */
bool ask_line(const char *question, bool secret, struct buf *line);

#endif
