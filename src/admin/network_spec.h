/*
 * network_spec.h: reads and writes a network policy in the operator's form.
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

/* The same; "default" is JSON's null. */
int network_spec_read_or_default(const char *option, const char *text,
    json_t **out, struct err *e) MUST_CHECK;

/*
 * The policy as an operator writes it, and " maxRequests=N" behind it if it has
 * that.  The caller owns the text.
 */
char *network_spec_text(const json_t *policy);

/* The entries of a list with commas.  The caller owns the array. */
json_t *network_spec_split(const char *text);

#endif
