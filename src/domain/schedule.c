/* schedule.c: reads cron expressions. */
#include "domain/schedule.h"

#include <string.h>
#include <strings.h>

#include "common/mem.h"
#include "common/str.h"

enum { DIGITS_MAX = 2, NAME_LEN = 3 };

static const char *const MONTHS[] = { "jan", "feb", "mar", "apr", "may", "jun",
	"jul", "aug", "sep", "oct", "nov", "dec", NULL };
static const char *const WEEKDAYS[] = { "sun", "mon", "tue", "wed", "thu",
	"fri", "sat", NULL };

static const struct part {
	const char *called;
	const char *json;
	unsigned min, max;
	const char *const *names; /* of min, min + 1, ...; NULL: none */
} PARTS[] = {
	[SCHEDULE_MINUTE] = { "minute", "minutes", 0, 59, NULL },
	[SCHEDULE_HOUR] = { "hour", "hours", 0, 23, NULL },
	[SCHEDULE_DAY] = { "day of the month", "days", 1, 31, NULL },
	[SCHEDULE_MONTH] = { "month", "months", 1, 12, MONTHS },
	[SCHEDULE_WEEKDAY] = { "weekday", "weekdays", 0, 7, WEEKDAYS },
};
_Static_assert(ARRAY_LEN(PARTS) == SCHEDULE__MAX, "every part has a row");

static const struct {
	const char *word, *means;
} SHORTHANDS[] = {
	{ "@hourly", "0 * * * *" },
	{ "@daily", "0 0 * * *" },
	{ "@weekly", "0 0 * * 0" },
	{ "@monthly", "0 0 1 * *" },
	{ "@yearly", "0 0 1 1 *" },
};

static bool
is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Reads a number or a name at *s and moves *s behind it. */
static bool
take_value(const struct part *p, const char **s, unsigned *out)
{
	size_t digits = strspn(*s, "0123456789");

	if (digits > DIGITS_MAX)
		return false;
	*out = 0;
	for (size_t i = 0; i < digits; i++)
		*out = *out * 10 + (unsigned)((*s)[i] - '0');
	*s += digits;
	if (digits > 0)
		return *out >= p->min && *out <= p->max;
	for (unsigned i = 0; p->names != NULL && p->names[i] != NULL; i++)
		if (strncasecmp(p->names[i], *s, NAME_LEN) == 0) {
			*s += NAME_LEN;
			*out = p->min + i;
			return true;
		}
	return false;
}

/* Reads "/N" at *s, if it is there. */
static bool
take_step(const struct part *p, const char **s, unsigned *step)
{
	size_t digits;

	*step = 1;
	if (**s != '/')
		return true;
	++*s;
	digits = strspn(*s, "0123456789");
	if (digits == 0 || digits > DIGITS_MAX)
		return false;
	*step = (unsigned)((*s)[0] - '0');
	if (digits == 2)
		*step = *step * 10 + (unsigned)((*s)[1] - '0');
	*s += digits;
	return *step > 0 && *step <= p->max;
}

/* Reads one element of a list: a value, a range or a star, each with a step. */
static bool
take_element(const struct part *p, const char **s, uint64_t *set)
{
	unsigned from = p->min, to = p->max, step;
	bool single = false;

	if (**s == '*')
		++*s;
	else {
		if (!take_value(p, s, &from))
			return false;
		single = **s != '-';
		if (!single && (++*s, !take_value(p, s, &to)))
			return false;
	}
	/* "5/10" is 5 to the end, as cron has it */
	if (single && **s != '/')
		to = from;
	if (!take_step(p, s, &step) || to < from)
		return false;
	for (unsigned i = from; i <= to; i += step)
		*set |= UINT64_C(1) << i;
	return true;
}

static bool
read_part(const struct part *p, const char *text, uint64_t *set)
{
	for (*set = 0;; text++) {
		if (!take_element(p, &text, set))
			return false;
		if (*text != ',')
			return *text == '\0';
	}
}

/* Splits the expression; false unless it has five parts. */
static bool
split(char *text, char *word[SCHEDULE__MAX])
{
	size_t n = 0;

	for (char *rest = text, *w; (w = strsep(&rest, " \t")) != NULL;) {
		if (w[0] == '\0')
			continue;
		if (n == SCHEDULE__MAX)
			return false;
		word[n++] = w;
	}
	return n == SCHEDULE__MAX;
}

static const char *
meaning(const char *text)
{
	for (size_t i = 0; i < ARRAY_LEN(SHORTHANDS); i++)
		if (str_equal(SHORTHANDS[i].word, text))
			return SHORTHANDS[i].means;
	return text;
}

int
schedule_parse(const char *text, struct schedule *out, struct err *e)
{
	const uint64_t seven = UINT64_C(1) << 7;
	char copy[SCHEDULE_TEXT_MAX], *word[SCHEDULE__MAX];
	uint64_t *weekdays = &out->set[SCHEDULE_WEEKDAY];

	*out = (struct schedule){ 0 };
	if (!str_copy(copy, sizeof(copy), meaning(text)))
		return err_field(e, "schedule", "must have at most %d bytes",
		    SCHEDULE_TEXT_MAX - 1);
	if (!split(copy, word))
		return err_field(e, "schedule",
		    "must have five parts, as 0 3 * * 1-5: minute, hour, day of the month, month, weekday; or be @hourly, @daily, @weekly, @monthly or @yearly");
	for (size_t i = 0; i < SCHEDULE__MAX; i++)
		if (!read_part(&PARTS[i], word[i], &out->set[i]))
			return err_field(e, "schedule",
			    "\"%.40s\" is not a %s (%u to %u)", word[i],
			    PARTS[i].called, PARTS[i].min, PARTS[i].max);
	/* 7 is Sunday, too */
	if ((*weekdays & seven) != 0)
		*weekdays = (*weekdays & ~seven) | 1;
	out->either =
	    word[SCHEDULE_DAY][0] != '*' && word[SCHEDULE_WEEKDAY][0] != '*';
	return 0;
}

json_t *
schedule_json(const struct schedule *s)
{
	json_t *o = json_pack("{s:b}", "either", (int)s->either);

	for (size_t i = 0; i < SCHEDULE__MAX; i++) {
		json_t *list = json_array();

		for (unsigned n = PARTS[i].min; n <= PARTS[i].max; n++)
			if ((s->set[i] >> n & 1) != 0)
				json_array_append_new(list, json_integer(n));
		json_object_set_new(o, PARTS[i].json, list);
	}
	return o;
}

bool
schedule_is_zone(const char *name)
{
	if (str_equal(name, "UTC"))
		return true;
	return strchr(name, '/') != NULL && !is_digit(name[0]) &&
	    str_made_of(name,
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_/+-",
		3, SCHEDULE_ZONE_MAX - 1);
}
