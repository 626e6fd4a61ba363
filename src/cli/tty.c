/* tty.c: sets the user's terminal to raw mode and back. */
#include "cli/tty.h"

#include <sys/ioctl.h>
#include <unistd.h>

void
tty_raw(struct tty *t)
{
	struct termios raw;

	if (t->raw || tcgetattr(STDIN_FILENO, &t->before) < 0)
		return;
	raw = t->before;
	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 1;
	raw.c_cc[VTIME] = 0;
	t->raw = tcsetattr(STDIN_FILENO, TCSADRAIN, &raw) == 0;
}

void
tty_restore(struct tty *t)
{
	if (t->raw)
		(void)tcsetattr(STDIN_FILENO, TCSADRAIN, &t->before);
	t->raw = false;
}

bool
tty_size(int *cols, int *rows)
{
	for (int fd = 0; fd < 3; fd++) {
		struct winsize ws;

		if (ioctl(fd, TIOCGWINSZ, &ws) == 0 && ws.ws_col > 0 &&
		    ws.ws_row > 0) {
			*cols = ws.ws_col;
			*rows = ws.ws_row;
			return true;
		}
	}
	return false;
}
