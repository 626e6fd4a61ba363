/*
 * base64.c: fuzzes base64: text that decodes strictly encodes to itself again,
 * and any bytes that are encoded decode to themselves.
 */
#include "common/base64.h"

#include <string.h>

#include "common/mem.h"
#include "fuzz.h"

int
fuzz_one(const uint8_t *data, size_t len)
{
	auto_buf struct buf plain = { 0 }, again = { 0 }, coded = { 0 };
	auto_buf struct buf strict = { 0 }, same = { 0 };

	if (base64_decode(&plain, (const char *)data, len))
		PROMISE(plain.len <= len);
	if (base64_decode_strict(&strict, (const char *)data, len)) {
		PROMISE(strict.len == plain.len);
		base64_encode(&same, strict.data, strict.len);
		PROMISE(same.len == len);
		PROMISE(len == 0 || memcmp(same.data, data, len) == 0);
	}
	base64_encode(&coded, data, len);
	PROMISE(base64_decode(&again, coded.data, coded.len));
	PROMISE(again.len == len);
	PROMISE(len == 0 || memcmp(again.data, data, len) == 0);
	return 0;
}
