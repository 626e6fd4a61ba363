/*
 * tty.h: our own terminal.
 */
#ifndef SANDLEASE_CLI_TTY_H
#define SANDLEASE_CLI_TTY_H

#include <stdbool.h>
#include <termios.h>

/* { 0 } before. */
struct tty {
	struct termios before;
	bool raw;
};

/* Every byte as it is typed, and none means anything to us; a no-op when
 * standard input is no terminal. */
void tty_raw(struct tty *t);
/* As it was; also without tty_raw(). */
void tty_restore(struct tty *t);

/* False when no descriptor of ours is a terminal. */
bool tty_size(int *cols, int *rows);

#endif
