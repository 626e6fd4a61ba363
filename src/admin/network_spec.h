/*
 * network_spec.h: reads a network policy as an operator writes it.
 *
 * "none", "open", or hosts and presets with commas between them, such as
 * "@npm,api.example.com,*.example.org".
 */
#ifndef SANDLEASE_ADMIN_NETWORK_SPEC_H
#define SANDLEASE_ADMIN_NETWORK_SPEC_H

#include "common/err.h"
#include "common/json.h"

/*
 * Makes a policy of `text`, the value of `option`.  The caller owns *out.  The
 * error names the option and the entry that is wrong.
 */
int network_spec_read(const char *option, const char *text, json_t **out,
    struct err *e) MUST_CHECK;

/* The entries of a list with commas.  The caller owns the array. */
json_t *network_spec_split(const char *text);

#endif
