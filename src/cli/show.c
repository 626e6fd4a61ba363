/* show.c: prints values for people, and JSON for programs. */
#include "cli/show.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/mem.h"
#include "common/str.h"

enum { FIELD = 11 }; /* width of a title */

void
show_json(const json_t *v)
{
	auto_free char *text = v != NULL ? json_text(v) : xstrdup("null");

	puts(text);
	fflush(stdout); /* a program that follows the output sees it now */
}

void
show_text(const char *text, FILE *to)
{
	for (; *text != '\0'; text++)
		if (!iscntrl((unsigned char)*text) || *text == '\n' ||
		    *text == '\t')
			fputc(*text, to);
}

void
show_problem(const char *text)
{
	/* if stdout and stderr are one file, earlier output must come first */
	fflush(stdout);
	fputs("sandlease: ", stderr);
	show_text(text, stderr);
	fputc('\n', stderr);
}

void
show_field(const char *title, const char *fmt, ...)
{
	auto_free char *value = NULL;
	va_list args;

	va_start(args, fmt);
	if (vasprintf(&value, fmt, args) < 0)
		value = NULL;
	va_end(args);
	show_text(title, stdout);
	if ((int)strlen(title) < FIELD)
		printf("%*s", FIELD - (int)strlen(title), "");
	putchar(' ');
	show_text(value != NULL ? value : "", stdout);
	putchar('\n');
}

void
show_age(const char *iso, char out[SHOW_AGE_MAX])
{
	static const struct {
		int64_t seconds;
		char letter;
	} UNITS[] = { { 86400, 'd' }, { 3600, 'h' }, { 60, 'm' }, { 1, 's' } };
	struct tm tm = { 0 };
	int64_t age;

	str_copy(out, SHOW_AGE_MAX, "-");
	if (strptime(iso, "%Y-%m-%dT%H:%M:%S", &tm) == NULL)
		return;
	age = (int64_t)time(NULL) - (int64_t)timegm(&tm);
	if (age < 0)
		age = 0;
	for (size_t i = 0; i < ARRAY_LEN(UNITS); i++)
		if (age >= UNITS[i].seconds || UNITS[i].seconds == 1) {
			snprintf(out, SHOW_AGE_MAX, "%d%c",
			    (int)(age / UNITS[i].seconds % 100000),
			    UNITS[i].letter);
			return;
		}
}

void
show_bytes(int64_t bytes, char out[SHOW_AGE_MAX])
{
	static const char *const UNITS[] = { "B", "kB", "MB", "GB", "TB" };
	double n = (double)bytes;
	size_t unit = 0;

	while (n >= 1000 && unit + 1 < ARRAY_LEN(UNITS)) {
		n /= 1000;
		unit++;
	}
	snprintf(out, SHOW_AGE_MAX, unit == 0 ? "%.0f %s" : "%.1f %s", n,
	    UNITS[unit]);
}
