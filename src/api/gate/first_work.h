/*
 * first_work.h: the first work of a session's generation, which its history
 * tells.  It is written when the answer has gone out: nobody waits for it, and
 * if it is not written, the next call is the first.
 */
#ifndef SANDLEASE_API_GATE_FIRST_WORK_H
#define SANDLEASE_API_GATE_FIRST_WORK_H

#include "api/app.h"

/* Of a call that was let in, by its row; nothing where it is not the first. */
void first_work_note(struct call *c, const struct rows *r);

/* Writes it; for the worker, between calls. */
void first_work_flush(struct app *app);

#endif
