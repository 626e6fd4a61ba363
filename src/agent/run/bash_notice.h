/*
 * bash_notice.h: what bash itself says of a job that was killed.
 *
 * When we end a command, bash writes a line of its own to the command's stderr:
 * `Terminated`, or `/bin/bash: line 1:  23 Killed   sleep 100`.  It is the last
 * one there, and no output of the command.  (A program that, when it is told to
 * end, says this word as its last and then exits by itself loses it.)
 */
#ifndef SANDLEASE_AGENT_RUN_BASH_NOTICE_H
#define SANDLEASE_AGENT_RUN_BASH_NOTICE_H

#include <stddef.h>

#include "agent/run/pump.h"
#include "common/str.h"

enum { NOTICE_MAX = 4096 }; /* a longer line is taken for output */

/* How much of the text is left without such a line at its end.  Pure. */
size_t bash_notice_strip(const char *text, size_t len);

/*
 * Between the two the end of a pump's stderr is held back, until it is known
 * whether it is such a line.  The pump's quiet callback must not be called.
 */
struct bash_notice_filter {
	pump_output_fn *output;
	void *ctx;
	struct buf held;
};

void bash_notice_begin(struct bash_notice_filter *f, struct pump *p);
void bash_notice_end(struct bash_notice_filter *f, struct pump *p);

#endif
