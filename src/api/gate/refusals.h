/*
 * refusals.h: what the gate says when it lets nobody in.
 *
 * nginx hears of a refusal as a word in a header (X-Sandlease-Deny) and asks
 * again for the answer that a client gets.
 */
#ifndef SANDLEASE_API_GATE_REFUSALS_H
#define SANDLEASE_API_GATE_REFUSALS_H

#include "common/err.h"

/* Fills in *e by the word that the gate gave as its reason. */
void refusal_read(const char *why, struct err *e);

#endif
