/*
 * tty.h: sets the user's terminal to raw mode and back.
 */
#ifndef SANDLEASE_CLI_TTY_H
#define SANDLEASE_CLI_TTY_H

#include <stdbool.h>
#include <termios.h>

/* Start with { 0 }. */
struct tty {
	struct termios before;
	bool raw;
};

/* Sets raw mode: read() gets every byte as it is typed, also ^C.  Does nothing
 * if standard input is no terminal. */
void tty_raw(struct tty *t);
/* Restores the mode from before tty_raw(); does nothing without tty_raw(). */
void tty_restore(struct tty *t);

/* False if neither stdin, stdout nor stderr is a terminal. */
bool tty_size(int *cols, int *rows);

#endif
