/*
 * ask.h: questions on the terminal.
 */
#ifndef SANDLEASE_CLI_ASK_H
#define SANDLEASE_CLI_ASK_H

#include <stdbool.h>

#include "common/str.h"

/* True when somebody can be asked: standard input is a terminal. */
bool ask_possible(void);

/* Prints the question; true only for an answer that begins with y or Y. */
bool ask_yes(const char *question);

/*
 * A line of standard input without its end, at most 4096 bytes.  On a terminal
 * the question is printed before, and with `secret` nothing is echoed.  False
 * when there is no line.
 */
bool ask_line(const char *question, bool secret, struct buf *line);

#endif
