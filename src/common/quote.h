/*
 * quote.h: quotes words for a shell, so that it sees exactly these bytes.
 */
#ifndef SANDLEASE_COMMON_QUOTE_H
#define SANDLEASE_COMMON_QUOTE_H

#include "common/str.h"

/* Appends one word in quotes. */
void quote_always(struct buf *to, const char *word);

/* Appends one word, in quotes only if it needs them: easier to read. */
void quote_word(struct buf *to, const char *word);

/* Appends all words by quote_word(), with spaces between them. */
void quote_words(struct buf *to, int count, char *const *words);

#endif
