/*
 * identity.h: makes a git author (name and address) of the user id of a key.
 *
 * A user id may hold any characters.  git refuses a name that is only
 * punctuation, and drops angle brackets and control characters from a name.  A
 * user id that is no mail address gets an address below .invalid, to which no
 * mail can be delivered.  Pure.
 */
#ifndef SANDLEASE_DOMAIN_IDENTITY_H
#define SANDLEASE_DOMAIN_IDENTITY_H

enum { IDENTITY_NAME_MAX = 160, IDENTITY_EMAIL_MAX = 192 };

struct identity {
	char name[IDENTITY_NAME_MAX];
	char email[IDENTITY_EMAIL_MAX];
};

/* Fills in *out; `org` may be "". */
void identity_of(const char *org, const char *user, struct identity *out);

#endif
