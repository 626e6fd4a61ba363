/*
 * config.h: where the service is, and with which key.
 *
 * The command line, else the environment, else a file of the user's:
 * $XDG_CONFIG_HOME/sandlease, or `config` in it where it is a directory.
 * Lines "url = ..." and "api_key = ..."; '#' begins a comment; "[NAME]" begins
 * the lines of a profile, and what precedes the first one is the profile
 * "default".
 */
#ifndef SANDLEASE_CLI_CONFIG_H
#define SANDLEASE_CLI_CONFIG_H

#include <stdbool.h>

#include "common/err.h"

#define CONFIG_DEFAULT "default"

struct config {
	char *url; /* without a slash or "/v1" at its end */
	char *key;
	char *profile; /* its name */
	bool known;    /* the file has that profile */
};

/* What the command line says; each may be NULL. */
struct config_choice {
	const char *url;
	const char *key_file;
	const char *profile;
};

/*
 * One sentence that says what to do when something is missing; a file that
 * others may read is only warned of.  A key of the file goes to no other
 * service than its profile's.
 */
int config_load(const struct config_choice *w, struct config *c, struct err *e)
    MUST_CHECK;

/* The same without a look at the key, which may be missing. */
int config_load_url(const struct config_choice *w, struct config *c,
    struct err *e) MUST_CHECK;

/* True for what no API key has: anything but printable ASCII. */
bool config_key_is_bad(const char *key);

/* Takes slashes, and "/v1", off the end of a URL. */
void config_trim_url(char *url);

/* Wipes the key. */
void config_free(struct config *c);

/*
 * The lines of c->profile in one file's text, `name` for messages.  The text
 * is written into.
 */
int config_parse(const char *name, char *text, struct config *c, struct err *e)
    MUST_CHECK;

/* Letters, digits, '.', '_' and '-', at most 64. */
bool config_profile_is_good(const char *profile);

#endif
