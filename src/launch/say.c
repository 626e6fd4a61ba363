/* say.c: says why a sandbox does not start, and ends. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "launch/launch.h"

enum { LINE_BYTES = 1024 };

static void
say(const char *format, va_list args, int why)
{
	char line[LINE_BYTES];

	vsnprintf(line, sizeof(line), format, args);
	/* one write(): other processes write to the same log */
	if (why != 0)
		dprintf(STDERR_FILENO, "sandlease-launch: %s: %s\n", line,
		    strerror(why));
	else
		dprintf(STDERR_FILENO, "sandlease-launch: %s\n", line);
}

void
die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	say(format, args, 0);
	va_end(args);
	_exit(1);
}

void
die_errno(const char *format, ...)
{
	int why = errno;
	va_list args;

	va_start(args, format);
	say(format, args, why);
	va_end(args);
	_exit(1);
}
