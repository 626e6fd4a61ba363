/* nearest.c: compares a mistyped word with known words. */
#include "common/nearest.h"

#include <string.h>

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Optimal string alignment; of the matrix only the last three rows are kept. */
size_t
nearest_distance(const char *a, const char *b)
{
	size_t an = strnlen(a, NEAREST_WORD_MAX);
	size_t bn = strnlen(b, NEAREST_WORD_MAX);
	size_t rows[3][NEAREST_WORD_MAX + 1] = { { 0 } };

	for (size_t j = 0; j <= bn; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= an; i++) {
		size_t *now = rows[i % 3], *last = rows[(i + 2) % 3];
		const size_t *before = rows[(i + 1) % 3];

		now[0] = i;
		for (size_t j = 1; j <= bn; j++) {
			now[j] = least(least(last[j], now[j - 1]) + 1,
			    last[j - 1] + (a[i - 1] != b[j - 1]));
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1])
				now[j] = least(now[j], before[j - 2] + 1);
		}
	}
	return rows[an % 3][bn];
}

bool
nearest_is_close(const char *a, const char *b)
{
	size_t len = strlen(b), slips = nearest_distance(a, b);

	return slips <= (len + 2) / 3 && slips < len;
}
