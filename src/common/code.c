/* code.c: maps error codes to words and back. */
#include "common/code.h"

#include "common/mem.h"
#include "common/str.h"

enum { WORD_MAX = 32 };

/* Arrays: pointers would have to be relocated in each process that starts. */
struct words {
	char word[WORD_MAX];
	char capitals[WORD_MAX];
};

#define CODE_FITS(name, word)                                                  \
	_Static_assert(sizeof(word) <= WORD_MAX && sizeof(#name) <= WORD_MAX,  \
	    #name " is too long");
ERR_CODES(CODE_FITS)
#undef CODE_FITS

/* An error without a code is a bug of ours, so its word is "internal". */
static const struct words WORDS[] = { [CODE_NONE] = { "internal", "INTERNAL" },
#define CODE_WORDS(name, word) [CODE_##name] = { word, #name },
	ERR_CODES(CODE_WORDS)
#undef CODE_WORDS
};
_Static_assert(ARRAY_LEN(WORDS) == CODE__MAX, "every code has its words");

const char *
code_word(enum err_code code)
{
	return WORDS[code].word;
}

const char *
code_capitals(enum err_code code)
{
	return WORDS[code].capitals;
}

enum err_code
code_parse(const char *word)
{
	for (int i = CODE_NONE + 1; i < CODE__MAX; i++)
		if (str_equal(WORDS[i].word, word) ||
		    str_equal(WORDS[i].capitals, word))
			return (enum err_code)i;
	return CODE_NONE;
}

bool
code_is_in(enum err_code code, const enum err_code *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (list[i] == code)
			return true;
	return false;
}
