/*
 * identity.h: under which name a key's user commits.
 *
 * Ids of users may hold anything; git refuses a name that is only punctuation
 * and cannot keep angle brackets or control characters in one.  Who has no
 * address gets one that can never be delivered.  Pure.
 */
#ifndef SANDLEASE_DOMAIN_IDENTITY_H
#define SANDLEASE_DOMAIN_IDENTITY_H

enum { IDENTITY_NAME_MAX = 160, IDENTITY_EMAIL_MAX = 192 };

struct identity {
	char name[IDENTITY_NAME_MAX];
	char email[IDENTITY_EMAIL_MAX];
};

/* org may be "". */
void identity_of(const char *org, const char *user, struct identity *out);

#endif
