/* entity.c: a file's ETag and date, conditional headers and ranges. */
#include "agent/files/entity.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "common/str.h"

#define HTTP_DATE "%a, %d %b %Y %H:%M:%S GMT"

void
entity_of(const struct stat *st, struct entity *out)
{
	struct tm tm;

	out->modified = st->st_mtim.tv_sec;
	out->size = st->st_size;
	/* a tenant can give a file a year that HTTP dates cannot have */
	if (gmtime_r(&st->st_mtim.tv_sec, &tm) == NULL ||
	    tm.tm_year > 9999 - 1900 || tm.tm_year < -1900)
		gmtime_r(&(time_t){ 0 }, &tm);
	strftime(out->date, sizeof(out->date), HTTP_DATE, &tm);
	snprintf(out->tag, sizeof(out->tag), "\"%llx-%llx-%llx.%lx\"",
	    (unsigned long long)st->st_ino, (unsigned long long)st->st_size,
	    (unsigned long long)st->st_mtim.tv_sec,
	    (unsigned long)st->st_mtim.tv_nsec);
}

/* ---- conditions */

/* Whether `tag` is in the list; `*` stands for any tag. */
static bool
list_has(const char *list, const char *tag, bool weak_too)
{
	while (*(list += strspn(list, " \t,")) != '\0') {
		bool weak = str_starts(list, "W/");
		const char *end;

		if (*list == '*')
			return true;
		list += weak ? 2 : 0;
		if (*list != '"' || (end = strchr(list + 1, '"')) == NULL)
			return false;
		end++;
		if ((!weak || weak_too) &&
		    (size_t)(end - list) == strlen(tag) &&
		    memcmp(list, tag, strlen(tag)) == 0)
			return true;
		list = end;
	}
	return false;
}

/* False if `text` is no date: such a condition is ignored. */
static bool
read_date(const char *text, int64_t *out)
{
	struct tm tm = { 0 };
	const char *end = strptime(text, HTTP_DATE, &tm);

	if (end == NULL || *end != '\0')
		return false;
	*out = timegm(&tm);
	return true;
}

enum entity_verdict
entity_check(const struct entity *en, const struct entity_conditions *c,
    bool reads)
{
	enum entity_verdict unchanged =
	    reads ? ENTITY_NOT_MODIFIED : ENTITY_FAILED;
	int64_t then;

	if (!str_empty(c->match)) {
		if (en == NULL || !list_has(c->match, en->tag, false))
			return ENTITY_FAILED;
	} else if (en != NULL && read_date(c->unmodified_since, &then)) {
		if (en->modified > then)
			return ENTITY_FAILED;
	}
	if (!str_empty(c->none_match)) {
		if (en != NULL && list_has(c->none_match, en->tag, true))
			return unchanged;
	} else if (reads && en != NULL && read_date(c->modified_since, &then)) {
		if (en->modified <= then)
			return unchanged;
	}
	return ENTITY_GO_ON;
}

/* ---- ranges */

/* Reads a number at *s, and moves *s after it; -1: none, or too long. */
static int64_t
take_number(const char **s)
{
	char digits[24];
	size_t n = strspn(*s, "0123456789");
	int64_t value;

	if (n == 0 || n >= sizeof(digits))
		return -1;
	memcpy(digits, *s, n);
	digits[n] = '\0';
	*s += n;
	return str_to_int(digits, 0, INT64_MAX, &value) ? value : -1;
}

/* Parses the range s of a file with `size` bytes. */
static enum entity_part
read_range(const char *s, int64_t size, int64_t *first, int64_t *last)
{
	bool suffix = *s == '-';

	*last = size - 1;
	if (suffix) {
		int64_t n;

		s++;
		n = take_number(&s);
		if (n < 0 || *s != '\0')
			return ENTITY_WHOLE;
		*first = n < size ? size - n : 0;
		return n > 0 && size > 0 ? ENTITY_PART : ENTITY_NO_PART;
	}
	*first = take_number(&s);
	if (*first < 0 || *s++ != '-')
		return ENTITY_WHOLE;
	if (*s != '\0') {
		int64_t end = take_number(&s);

		if (end < *first || *s != '\0')
			return ENTITY_WHOLE;
		*last = end < size ? end : size - 1;
	}
	return *first < size ? ENTITY_PART : ENTITY_NO_PART;
}

/* If-Range: a file that has changed is sent whole. */
static bool
still_same(const struct entity *en, const char *if_range)
{
	return str_empty(if_range) || str_equal(if_range, en->tag) ||
	    str_equal(if_range, en->date);
}

enum entity_part
entity_range(const struct entity *en, const char *range, const char *if_range,
    int64_t *from, int64_t *len)
{
	static const char UNIT[] = "bytes=";
	enum entity_part part;
	int64_t first, last;

	*from = 0;
	*len = en->size;
	if (!str_starts(range, UNIT) || !still_same(en, if_range))
		return ENTITY_WHOLE;
	part = read_range(range + strlen(UNIT), en->size, &first, &last);
	if (part == ENTITY_PART) {
		*from = first;
		*len = last - first + 1;
	}
	return part;
}
