/* progress.c: draws the progress of a copy on a terminal. */
#include "cli/copy/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/show.h"
#include "common/clock.h"

enum { REDRAW_MS = 100, BAR = 20 };

void
progress_begin(struct progress *p, const char *name, bool wanted)
{
	*p = (struct progress){ .name = name,
		.shown = wanted && isatty(STDERR_FILENO),
		.began_ms = clock_ms() };
}

static void
draw_bar(const struct progress *p, int64_t total)
{
	static const char FULL[] = "####################";
	int64_t ms = clock_ms() - p->began_ms;
	char done[SHOW_AGE_MAX], all[SHOW_AGE_MAX], rate[SHOW_AGE_MAX];
	int percent = total > 0 ? (int)(p->done * 100 / total) : 0;

	show_bytes(p->done, done);
	show_bytes(total, all);
	show_bytes(ms > 0 ? p->done * 1000 / ms : 0, rate);
	fprintf(stderr, "\r\033[K%.30s  ", p->name);
	if (total > 0)
		fprintf(stderr, "[%-*.*s] %3d%%  %s of %s  %s/s", BAR,
		    percent * BAR / 100, FULL, percent, done, all, rate);
	else
		fprintf(stderr, "%s  %s/s", done, rate);
	fflush(stderr);
}

void
progress_move(struct progress *p, int64_t done, int64_t total)
{
	int64_t now = clock_ms();

	p->done = done;
	if (!p->shown ||
	    (now - p->drawn_ms < REDRAW_MS && (done < total || total == 0)))
		return;
	p->drawn_ms = now;
	draw_bar(p, total);
}

void
progress_end(struct progress *p)
{
	if (p->shown)
		fputc('\n', stderr);
	p->shown = false;
}
