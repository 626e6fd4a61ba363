/*
 * config.h: finds the service's URL and the API key for it.
 *
 * The command line counts most, then the environment, then the user's file.
 * The file is $XDG_CONFIG_HOME/sandlease, or `config` in it if that is a
 * directory.  It has lines "url = ..." and "api_key = ..."; '#' begins a
 * comment.  A line "[NAME]" begins a profile; lines before the first such line
 * belong to the profile "default".
 */
#ifndef SANDLEASE_CLI_CONFIG_H
#define SANDLEASE_CLI_CONFIG_H

#include <stdbool.h>

#include "common/err.h"

#define CONFIG_DEFAULT "default"

struct config {
	char *url; /* without "/" or "/v1" at its end */
	char *key;
	char *profile; /* its name */
	bool known;    /* the file has that profile */
};

/* The common options of the command line; each may be NULL. */
struct config_choice {
	const char *url;
	const char *key_file;
	const char *profile;
};

/*
 * Loads URL and key into *c.  If one is missing, the error says how to set it.
 * A file that other users can read only causes a warning.  The key of a profile
 * is never sent to another URL than that profile's.
 */
int config_load(const struct config_choice *w, struct config *c, struct err *e)
    MUST_CHECK;

/* The same, but the key is not checked and may be missing. */
int config_load_url(const struct config_choice *w, struct config *c,
    struct err *e) MUST_CHECK;

/* True if the key has a character that is not printable ASCII, or a space. */
bool config_key_is_bad(const char *key);

/* Removes slashes and "/v1" from the end of `url`. */
void config_trim_url(char *url);

/* Frees *c; the memory of the key is overwritten first. */
void config_free(struct config *c);

/*
 * Reads the lines of profile c->profile from `text`, the contents of a file,
 * and changes `text`.  `name` is the file's name, for messages.
 */
int config_parse(const char *name, char *text, struct config *c, struct err *e)
    MUST_CHECK;

/* True for 1 to 64 letters, digits, '.', '_' and '-'. */
bool config_profile_is_good(const char *profile);

#endif
