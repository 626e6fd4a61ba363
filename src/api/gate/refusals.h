/*
 * refusals.h: makes an error of the word with which the gate refused.
 *
 * The gate refuses with a word in a header (X-Sandlease-Deny).  nginx passes
 * the word to the gate `deny`, which makes the client's answer.
 */
#ifndef SANDLEASE_API_GATE_REFUSALS_H
#define SANDLEASE_API_GATE_REFUSALS_H

#include "common/err.h"

/* Sets *e to the error for the word `why`. */
void refusal_read(const char *why, struct err *e);

#endif
