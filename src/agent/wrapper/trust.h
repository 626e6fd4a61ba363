/*
 * trust.h: makes the session's programs trust a certificate authority.
 *
 * The host's sandlease-egress ends the TLS of hosts that have secrets, and shows
 * certificates of its own.  Two files in the home directory have the authority:
 * one alone, and one together with those of the system.  Environment variables
 * lead programs there (agent/shell/envset.h).
 */
#ifndef SANDLEASE_AGENT_WRAPPER_TRUST_H
#define SANDLEASE_AGENT_WRAPPER_TRUST_H

#include "common/err.h"

int trust_write(const char *certificate, struct err *e) MUST_CHECK;

#endif
