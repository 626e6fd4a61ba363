/* date.c: reads dates of RFC 3339. */
#include "api/v1/date.h"

#include <stdint.h>
#include <string.h>

#include "common/str.h"

/* "Z", or an offset that PostgreSQL accepts: up to 15:59 either way. */
static bool
is_zone(const char *s)
{
	int64_t hours, minutes;
	char text[3] = "";

	if (str_equal(s, "Z"))
		return true;
	if (strlen(s) != 6 || (s[0] != '+' && s[0] != '-') || s[3] != ':')
		return false;
	memcpy(text, s + 1, 2);
	return str_made_of(text, "0123456789", 2, 2) &&
	    str_to_int(text, 0, 15, &hours) &&
	    str_made_of(s + 4, "0123456789", 2, 2) &&
	    str_to_int(s + 4, 0, 59, &minutes);
}

/* The end of a fraction of a second, if there is one. */
static const char *
skip_fraction(const char *s)
{
	size_t digits = s[0] == '.' ? strspn(s + 1, "0123456789") : 0;

	return digits > 0 ? s + 1 + digits : s;
}

int
date_check(const char *s, const char *field, time_t *at, struct err *e)
{
	struct tm tm = { 0 }, day;
	const char *rest = strptime(s, "%Y-%m-%dT%H:%M:%S", &tm);

	day = tm;
	*at = timegm(&day);
	/* timegm() has changed a day that the month does not have */
	if (rest == NULL || !is_zone(skip_fraction(rest)) ||
	    day.tm_mday != tm.tm_mday || day.tm_sec != tm.tm_sec)
		return err_field(e, field,
		    "must be a date of RFC 3339, such as 2030-01-31T12:00:00Z");
	if (*at < 0)
		return err_field(e, field, "must be after 1970");
	return 0;
}
