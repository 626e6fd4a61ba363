/* answers.c: fuzzes the reader of a shell's answers, in any portions. */
#include "agent/shell/answers.h"

#include <string.h>

#include "common/mem.h"
#include "fuzz.h"

/* The first byte is the size of the portions: it must not matter. */
int
fuzz_one(const uint8_t *data, size_t len)
{
	struct answers whole = { 0 }, portions = { 0 };
	const char *text = (const char *)data + 1;
	size_t size = len > 0 ? data[0] % 31 + 1 : 1;

	if (len == 0)
		return 0;
	len--;
	answers_read(&whole, text, len);
	for (size_t i = 0; i < len; i += size)
		answers_read(&portions, text + i,
		    len - i < size ? len - i : size);
	PROMISE(whole.ended == portions.ended && whole.ready == portions.ready);
	PROMISE(whole.exit_code == portions.exit_code);
	PROMISE(whole.exports.len == portions.exports.len);
	PROMISE(whole.exports.len == 0 ||
	    memcmp(whole.exports.data, portions.exports.data,
		whole.exports.len) == 0);
	PROMISE(whole.exports.len <= ANSWERS_EXPORTS_MAX + len);
	answers_reset(&whole);
	answers_reset(&portions);
	return 0;
}
