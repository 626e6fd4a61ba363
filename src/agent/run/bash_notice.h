/*
 * bash_notice.h: removes bash's own message about a killed job from stderr.
 *
 * When the wrapper ends a command, bash writes a line to the command's stderr:
 * `Terminated`, or `/bin/bash: line 1:  23 Killed   sleep 100`.  That line is
 * the last one there, and is no output of the command.  Limit: if a program
 * gets SIGTERM, prints exactly such a word as its last line and exits by
 * itself, that line is removed, too.
 */
#ifndef SANDLEASE_AGENT_RUN_BASH_NOTICE_H
#define SANDLEASE_AGENT_RUN_BASH_NOTICE_H

#include <stddef.h>

#include "agent/run/pump.h"
#include "common/str.h"

enum { NOTICE_MAX = 4096 }; /* a longer line counts as output */

/* The length of the text without such a line at its end.  Pure. */
size_t bash_notice_strip(const char *text, size_t len);

/*
 * Between begin and end, the last NOTICE_MAX bytes of a pump's stderr are held
 * back, until it is known whether they end with such a line.  The pump must
 * have no quiet callback: it would get the filter as its context.
 */
struct bash_notice_filter {
	pump_output_fn *output;
	void *ctx;
	struct buf held;
};

void bash_notice_begin(struct bash_notice_filter *f, struct pump *p);
void bash_notice_end(struct bash_notice_filter *f, struct pump *p);

#endif
