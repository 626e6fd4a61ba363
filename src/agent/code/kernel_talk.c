/* kernel_talk.c: parses the lines that a kernel writes while it runs a cell. */
#include "agent/code/kernel_talk.h"

#include <string.h>

#include "common/mem.h"

enum { HEAD_MAX = 32 };

static const char *const WORDS[] = {
	[KERNEL_WORD_NONE] = "",
	[KERNEL_WORD_RESULT] = "result",
	[KERNEL_WORD_DONE] = "done",
	[KERNEL_WORD_ERROR] = "error",
	[KERNEL_WORD_READY] = "ready",
	[KERNEL_WORD_MISSING] = "missing",
};
_Static_assert(ARRAY_LEN(WORDS) == KERNEL_WORD__MAX, "every word has a row");

/* Parses `WORD SEQ`; KERNEL_WORD_NONE if it is not of the running cell. */
static enum kernel_word
parse_head(const struct kernel_talk *t, char *head)
{
	char *space = strchr(head, ' ');
	int64_t seq;

	if (space == NULL || !str_to_int(space + 1, 0, INT64_MAX, &seq) ||
	    seq != t->seq)
		return KERNEL_WORD_NONE;
	*space = '\0';
	for (int w = KERNEL_WORD_RESULT; w < KERNEL_WORD__MAX; w++)
		if (str_equal(head, WORDS[w]))
			return (enum kernel_word)w;
	return KERNEL_WORD_NONE;
}

static void
read_head_byte(struct kernel_talk *t, char ch)
{
	bool second = ch == ' ' && t->text.len > 0 &&
	    memchr(t->text.data, ' ', t->text.len) != NULL;

	if (!second)
		buf_add(&t->text, &ch, 1);
	if (!second && t->text.len <= HEAD_MAX)
		return;
	/* the head of the line is complete, or too long to be valid */
	t->inside = true;
	t->word = parse_head(t, t->text.data);
	t->skip = t->word == KERNEL_WORD_NONE;
	t->cut = false;
	t->text.len = 0;
	if (t->word == KERNEL_WORD_RESULT)
		t->begin(t->ctx);
}

static void
read_body(struct kernel_talk *t, const char *data, size_t len, bool last)
{
	if (t->word == KERNEL_WORD_RESULT) {
		t->result(t->ctx, data, len, last);
		return;
	}
	t->cut = t->cut || t->text.len + len > KERNEL_TALK_END_MAX;
	if (t->cut)
		t->text.len = 0; /* drop the line: part of it is not JSON */
	else if (!t->skip)
		buf_add(&t->text, data, len);
}

/* True when the line has ended the running cell. */
static bool
end_line(struct kernel_talk *t)
{
	bool over = t->inside && !t->skip && t->word != KERNEL_WORD_RESULT;

	t->inside = false;
	if (!over) {
		t->word = KERNEL_WORD_NONE;
		t->text.len = 0;
	}
	return over;
}

bool
kernel_talk_read(struct kernel_talk *t, const char *data, size_t len)
{
	while (len > 0) {
		const char *nl = memchr(data, '\n', len);
		size_t n = nl != NULL ? (size_t)(nl - data) : len;

		while (n > 0 && !t->inside) {
			read_head_byte(t, *data++);
			n--;
			len--;
		}
		if (t->inside)
			read_body(t, data, n, nl != NULL);
		data += n;
		len -= n;
		if (nl == NULL)
			continue;
		data++;
		len--;
		if (end_line(t))
			return true;
	}
	return false;
}

void
kernel_talk_close(struct kernel_talk *t)
{
	if (t->inside && t->word == KERNEL_WORD_RESULT)
		t->result(t->ctx, "", 0, true);
	buf_free(&t->text);
}
