/*
 * config.h: where the service is, and with which key.
 *
 * The environment, else a file of the user's: $XDG_CONFIG_HOME/sandlease, or
 * `config` in it where it is a directory.  Lines "url = ..." and
 * "api_key = ..."; '#' begins a comment.
 */
#ifndef SANDLEASE_CLI_CONFIG_H
#define SANDLEASE_CLI_CONFIG_H

#include <stdbool.h>

#include "common/err.h"

struct config {
	char *url; /* without a slash at its end */
	char *key;
};

/*
 * `url` (may be NULL) is what the command line says.  One sentence that says
 * what to do when something is missing; a file that others may read is only
 * warned of.  A key of the file goes to no other service than the file's.
 */
int config_load(const char *url, struct config *c, struct err *e) MUST_CHECK;

/* Wipes the key. */
void config_free(struct config *c);

/* One file's text, `name` for messages; config_load without the rest. */
int config_parse(const char *name, char *text, struct config *c, struct err *e)
    MUST_CHECK;

#endif
