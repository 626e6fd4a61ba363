/* duration.c: parses a time such as "10m" into seconds. */
#include "cli/duration.h"

#include <string.h>

#include "common/str.h"

enum { DIGITS_MAX = 12 };

int
duration_parse(const char *name, const char *text, int64_t min, int64_t max,
    int64_t *seconds, struct err *e)
{
	static const char UNITS[] = "smhd";
	static const int64_t SECONDS[] = { 1, 60, 3600, 86400 };
	char digits[DIGITS_MAX + 1];
	size_t len = strspn(text, "0123456789");
	const char *unit = text[len] != '\0' ? strchr(UNITS, text[len]) : UNITS;
	int64_t n = 0, each;

	if (len == 0 || len > DIGITS_MAX || unit == NULL ||
	    (text[len] != '\0' && text[len + 1] != '\0'))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s takes a time such as 30s, 10m, 2h or 1d, not \"%.40s\"",
		    name, text);
	memcpy(digits, text, len);
	digits[len] = '\0';
	each = SECONDS[unit - UNITS];
	if (!str_to_int(digits, 0, max / each, &n) || n * each < min)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "%s must be from %lld to %lld seconds", name,
		    (long long)min, (long long)max);
	*seconds = n * each;
	return 0;
}
