/* bash_notice.c: removes bash's own message about a killed job from stderr. */
#include "agent/run/bash_notice.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "common/mem.h"

/* strsignal()'s words for the two signals that end a command. */
static const char *const WORDS[] = { "Terminated", "Killed" };

static bool
is_word(const char *s, size_t len)
{
	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
		if (strlen(WORDS[i]) == len && memcmp(s, WORDS[i], len) == 0)
			return true;
	return false;
}

/* Skips `skip`, then one or more digits; NULL if they are not there. */
static const char *
skip_number(const char *s, const char *end, const char *skip)
{
	size_t n = strlen(skip);
	const char *digits;

	if ((size_t)(end - s) < n || memcmp(s, skip, n) != 0)
		return NULL;
	digits = s += n;
	while (s < end && isdigit((unsigned char)*s))
		s++;
	return s > digits ? s : NULL;
}

/* Matches `line 1:    23 Killed                  sleep 100`. */
static bool
is_job_message(const char *s, const char *end)
{
	const char *word;

	s = skip_number(s, end, "line ");
	if (s == NULL || s == end || *s++ != ':')
		return false;
	while (s + 1 < end && s[0] == ' ' && s[1] == ' ')
		s++;
	s = skip_number(s, end, " ");
	if (s == NULL || s == end || *s != ' ')
		return false;
	word = ++s;
	while (s < end && isalpha((unsigned char)*s))
		s++;
	return is_word(word, (size_t)(s - word));
}

size_t
bash_notice_strip(const char *text, size_t len)
{
	static const char SHELL[] = "bash: ";
	const char *line, *name;

	if (len == 0 || text[len - 1] != '\n')
		return len;
	line = memrchr(text, '\n', len - 1);
	line = line != NULL ? line + 1 : text;
	if (is_word(line, (size_t)(text + len - 1 - line)))
		return (size_t)(line - text);
	/* the command's own output before it may lack a newline */
	name =
	    memmem(line, (size_t)(text + len - line), SHELL, sizeof(SHELL) - 1);
	if (name == NULL ||
	    !is_job_message(name + sizeof(SHELL) - 1, text + len - 1))
		return len;
	if (name - line >= 5 && memcmp(name - 5, "/bin/", 5) == 0)
		name -= 5;
	return (size_t)(name - text);
}

static void
hold_back(void *ctx, int which, const char *data, size_t len)
{
	struct bash_notice_filter *f = ctx;
	size_t more;

	if (which == 0) {
		f->output(f->ctx, which, data, len);
		return;
	}
	buf_add(&f->held, data, len);
	if (f->held.len <= NOTICE_MAX)
		return;
	more = f->held.len - NOTICE_MAX;
	f->output(f->ctx, which, f->held.data, more);
	memmove(f->held.data, f->held.data + more, NOTICE_MAX);
	f->held.len = NOTICE_MAX;
}

void
bash_notice_begin(struct bash_notice_filter *f, struct pump *p)
{
	*f = (struct bash_notice_filter){ .output = p->output,
		.ctx = p->output_ctx };
	p->output = hold_back;
	p->output_ctx = f;
}

void
bash_notice_end(struct bash_notice_filter *f, struct pump *p)
{
	size_t len = bash_notice_strip(f->held.data, f->held.len);

	p->output = f->output;
	p->output_ctx = f->ctx;
	if (len > 0)
		p->output(p->output_ctx, 1, f->held.data, len);
	buf_free(&f->held);
}
