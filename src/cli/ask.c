/* ask.c: asks the user a question on the terminal and reads the answer. */
#include "cli/ask.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

enum { LINE_MAX_BYTES = 4096 };

static struct termios before;

bool
ask_possible(void)
{
	return isatty(STDIN_FILENO) == 1;
}

/* A signal handler: without it, ^C would leave the terminal without echo. */
static void
restore_and_die(int number)
{
	(void)tcsetattr(STDIN_FILENO, TCSANOW, &before);
	signal(number, SIG_DFL);
	raise(number);
}

static bool
hide_typing(void)
{
	static const int ENDING[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct termios silent;

	if (tcgetattr(STDIN_FILENO, &before) < 0)
		return false;
	for (size_t i = 0; i < sizeof(ENDING) / sizeof(ENDING[0]); i++)
		signal(ENDING[i], restore_and_die);
	silent = before;
	silent.c_lflag &= ~(tcflag_t)ECHO;
	return tcsetattr(STDIN_FILENO, TCSAFLUSH, &silent) == 0;
}

bool
ask_line(const char *question, bool secret, struct buf *line)
{
	bool hidden = false, ended = false;

	if (ask_possible()) {
		/* before the question: TCSAFLUSH drops what was typed by now */
		hidden = secret && hide_typing();
		fputs(question, stderr);
		fflush(stderr);
	}
	buf_str(line, "");
	/* a byte at a time: the next reader gets the bytes after the line */
	while (line->len < LINE_MAX_BYTES && !ended) {
		char c;
		ssize_t n = read(STDIN_FILENO, &c, 1);

		if (n < 0 && errno == EINTR)
			continue;
		ended = n <= 0 || c == '\n';
		if (!ended)
			buf_add(line, &c, 1);
	}
	if (hidden) {
		(void)tcsetattr(STDIN_FILENO, TCSAFLUSH, &before);
		fputc('\n', stderr);
	}
	return line->len > 0;
}

bool
ask_yes(const char *question)
{
	auto_buf struct buf line = { 0 };

	return ask_line(question, false, &line) &&
	    (line.data[0] == 'y' || line.data[0] == 'Y');
}
