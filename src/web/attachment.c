/* attachment.c: gives a download its name. */
#include "web/attachment.h"

#include <ctype.h>
#include <string.h>

#include "common/str.h"

void
attachment_name(struct call *c, const char *path, const char *suffix)
{
	auto_buf struct buf value = { 0 };
	size_t end = strlen(path), begin;

	while (end > 0 && path[end - 1] == '/')
		end--;
	for (begin = end; begin > 0 && path[begin - 1] != '/'; begin--)
		;
	buf_str(&value, "attachment; filename*=UTF-8''");
	if (begin == end)
		buf_str(&value, "root");
	for (; begin < end; begin++) {
		unsigned char ch = (unsigned char)path[begin];

		if (isalnum(ch) || ch == '.' || ch == '-' || ch == '_')
			buf_add(&value, &ch, 1);
		else
			buf_fmt(&value, "%%%02X", ch);
	}
	buf_str(&value, suffix);
	call_header(c, "Content-Disposition", value.data);
}
