/*
 * first_work.h: writes the first call of a generation to the session's history.
 *
 * The event is written after the answer was sent, so the client does not wait
 * for it.  If the write fails, the next call becomes the first.
 */
#ifndef SANDLEASE_API_GATE_FIRST_WORK_H
#define SANDLEASE_API_GATE_FIRST_WORK_H

#include "api/app.h"

/* Notes a call that auth.c admits, if its row `r` says that it is the first. */
void first_work_note(struct call *c, const struct rows *r);

/* Writes the note; the worker calls it after the answer was sent. */
void first_work_flush(struct app *app);

#endif
