/* quote.c: quotes words for a shell. */
#include "common/quote.h"

#include <stdint.h>
#include <string.h>

/* Characters without a special meaning in any shell, at any place. */
static const char PLAIN[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-./:,@%+";

void
quote_always(struct buf *to, const char *word)
{
	buf_str(to, "'");
	for (;;) {
		size_t n = strcspn(word, "'");

		buf_add(to, word, n);
		if (word[n] == '\0')
			break;
		buf_str(to, "'\\''");
		word += n + 1;
	}
	buf_str(to, "'");
}

void
quote_word(struct buf *to, const char *word)
{
	if (str_made_of(word, PLAIN, 1, SIZE_MAX))
		buf_str(to, word);
	else
		quote_always(to, word);
}

void
quote_words(struct buf *to, int count, char *const *words)
{
	for (int i = 0; i < count; i++) {
		if (i > 0)
			buf_str(to, " ");
		quote_word(to, words[i]);
	}
}
