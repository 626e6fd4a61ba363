/* identity.c: makes a git author of the user id of a key. */
#include "domain/identity.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "common/str.h"

enum { PART_MAX = 65 };

static bool
may_be_in_name(unsigned char c)
{
	return c >= ' ' && c != 0x7f && c != '<' && c != '>';
}

/* user@host, with only characters that need no quotes. */
static bool
is_address(const char *s)
{
	const char *at = strchr(s, '@');

	if (at == NULL || at == s || at[1] == '\0' ||
	    strchr(at + 1, '@') != NULL || strlen(s) >= IDENTITY_EMAIL_MAX)
		return false;
	for (; *s != '\0'; s++)
		if (!isalnum((unsigned char)*s) &&
		    strchr("@.!#$%&'*+-/=?^_`{|}~", *s) == NULL)
			return false;
	return true;
}

/*
 * Copies the characters of `user` that git keeps, up to the maximum length;
 * "user" if no letter or digit is left.
 */
static void
copy_name(const char *user, char out[IDENTITY_NAME_MAX])
{
	size_t n = 0;
	bool letter = false;

	for (const char *s = user; *s != '\0'; s++) {
		/* cut before a character of UTF-8, not within one */
		if (n >= IDENTITY_NAME_MAX - 5 &&
		    ((unsigned char)*s & 0xc0) != 0x80)
			break;
		if (!may_be_in_name((unsigned char)*s))
			continue;
		letter = letter || isalnum((unsigned char)*s) ||
		    (unsigned char)*s >= 0x80;
		out[n++] = *s;
	}
	out[n] = '\0';
	if (!letter)
		str_copy(out, IDENTITY_NAME_MAX, "user");
}

/* Copies `s` as a part of an address: a-z, 0-9, and '-' for the rest. */
static void
copy_address_part(const char *s, char out[PART_MAX])
{
	size_t n = 0;

	for (; *s != '\0' && n < PART_MAX - 1; s++) {
		if (isalnum((unsigned char)*s))
			out[n++] = (char)tolower((unsigned char)*s);
		else if (n > 0 && out[n - 1] != '-')
			out[n++] = '-';
	}
	while (n > 0 && out[n - 1] == '-')
		n--;
	out[n] = '\0';
}

void
identity_of(const char *org, const char *user, struct identity *out)
{
	char who[PART_MAX], where[PART_MAX];

	copy_name(user, out->name);
	if (is_address(user)) {
		str_copy(out->email, sizeof(out->email), user);
		return;
	}
	copy_address_part(user, who);
	copy_address_part(org, where);
	snprintf(out->email, sizeof(out->email), "%s@%s%ssandlease.invalid",
	    who[0] != '\0' ? who : "user", where, where[0] != '\0' ? "." : "");
}
