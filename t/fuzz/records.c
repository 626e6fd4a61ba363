/* records.c: fuzzes a wrapper's records for streams, in any portions. */
#include <string.h>

#include "common/mem.h"
#include "fuzz.h"
#include "web/records.h"

/* Collects the content that the pool would read; -1: not FastCGI. */
static int
take(struct records *r, const char *data, size_t len, struct buf *out)
{
	const char *end = data + len;
	struct records_piece p;
	int rc;

	while ((rc = records_next(r, &data, &len, &p)) > 0) {
		PROMISE(p.data + p.len <= end && data <= end);
		if (p.len > 0)
			buf_add(out, p.data, p.len);
		if (p.last)
			buf_fmt(out, "<%d/%d>", p.type, p.id);
	}
	PROMISE(rc < 0 || len == 0);
	return rc;
}

int
fuzz_one(const uint8_t *data, size_t len)
{
	const char *bytes = (const char *)data;
	size_t cut = len > 0 ? data[0] % len : 0;
	auto_buf struct buf whole = { 0 };
	auto_buf struct buf parts = { 0 };
	auto_buf struct buf params = { 0 };
	struct records one = { 0 }, two = { 0 };
	struct records_param p;
	int rc = take(&one, bytes, len, &whole), again;

	again = take(&two, bytes, cut, &parts);
	if (again == 0)
		again = take(&two, bytes + cut, len - cut, &parts);
	PROMISE(rc == again && whole.len == parts.len);
	PROMISE(
	    whole.len == 0 || memcmp(whole.data, parts.data, whole.len) == 0);
	buf_add(&params, bytes, len);
	if (records_param(&params, "SL_TARGET", &p))
		PROMISE(p.at + p.size <= len &&
		    p.value + p.len <= params.data + len);
	return 0;
}
