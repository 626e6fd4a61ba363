/*
 * network.h: turns options about a session's network into members of a body.
 *
 *     --allow HOST[,HOST] ... --network MODE --max-requests N    "network"
 *     --secret HOST:HEADER=VARIABLE ... --no-secrets      "secrets"
 *
 * The value of a secret comes from a variable of the environment: command lines
 * can be read by other users of the machine.
 */
#ifndef SANDLEASE_CLI_NETWORK_H
#define SANDLEASE_CLI_NETWORK_H

#include "cli/args.h"
#include "common/json.h"

/* Adds what the options ask for; without them `body` stays as it is. */
int network_add(const struct args *a, json_t *body, struct err *e) MUST_CHECK;

/* Prints the network and the secrets of a session. */
void network_show(const json_t *session);

#endif
