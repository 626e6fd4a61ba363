/*
 * quote.h: words for a shell that must come out as they went in.
 */
#ifndef SANDLEASE_COMMON_QUOTE_H
#define SANDLEASE_COMMON_QUOTE_H

#include "common/str.h"

/* Appends one word in quotes. */
void quote_always(struct buf *to, const char *word);

/* Appends one word, in quotes where it needs them: for people to read. */
void quote_word(struct buf *to, const char *word);

/* Appends all of them, a space between. */
void quote_words(struct buf *to, int count, char *const *words);

#endif
