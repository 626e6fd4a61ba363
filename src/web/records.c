/* records.c: parses and writes FastCGI records. */
#include "web/records.h"

#include <string.h>

enum { PROTOCOL = 1, RESPONDER = 1, BODY = 8 /* of begin and end */ };

static size_t
least(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void
skip(const char **data, size_t *len, size_t n)
{
	*data += n;
	*len -= n;
}

/* False while the header is not complete. */
static bool
take_header(struct records *r, const char **data, size_t *len)
{
	size_t n = least(RECORDS_HEADER - r->have, *len);

	memcpy(r->header + r->have, *data, n);
	r->have += n;
	skip(data, len, n);
	if (r->have < RECORDS_HEADER)
		return false;
	r->content = (size_t)r->header[4] << 8 | r->header[5];
	r->padding = r->header[6];
	return true;
}

static void
take_content(struct records *r, const char **data, size_t *len,
    struct records_piece *out)
{
	size_t n = least(r->content, *len);

	r->content -= n;
	*out = (struct records_piece){ .type = r->header[1],
		.id = (uint16_t)(r->header[2] << 8 | r->header[3]),
		.data = *data,
		.len = n,
		.last = r->content == 0 };
	skip(data, len, n);
}

int
records_next(struct records *r, const char **data, size_t *len,
    struct records_piece *out)
{
	while (*len > 0) {
		size_t n;

		if (r->have < RECORDS_HEADER) {
			if (!take_header(r, data, len))
				return 0;
			if (r->header[0] != PROTOCOL)
				return -1;
			if (r->content == 0) {
				take_content(r, data, len, out);
				return 1;
			}
		} else if (r->content > 0) {
			take_content(r, data, len, out);
			return 1;
		} else {
			n = least(r->padding, *len);
			r->padding -= n;
			skip(data, len, n);
			if (r->padding == 0)
				r->have = 0;
		}
	}
	return 0;
}

void
records_header(unsigned char out[RECORDS_HEADER], enum records_type type,
    uint16_t id, size_t len)
{
	const unsigned char header[RECORDS_HEADER] = { PROTOCOL,
		(unsigned char)type, (unsigned char)(id >> 8),
		(unsigned char)id, (unsigned char)(len >> 8),
		(unsigned char)len };

	memcpy(out, header, sizeof(header));
}

static void
add_one(struct buf *out, enum records_type type, uint16_t id, const char *data,
    size_t len)
{
	unsigned char header[RECORDS_HEADER];

	records_header(header, type, id, len);
	buf_add(out, header, sizeof(header));
	buf_add(out, data, len);
}

void
records_add(struct buf *out, enum records_type type, uint16_t id,
    const char *data, size_t len)
{
	do {
		size_t n = least(len, RECORDS_CONTENT_MAX);

		add_one(out, type, id, data, n);
		skip(&data, &len, n);
	} while (len > 0);
}

void
records_begin(struct buf *out, uint16_t id)
{
	static const char ROLE[BODY] = { 0, RESPONDER };

	add_one(out, RECORDS_BEGIN, id, ROLE, sizeof(ROLE));
}

void
records_end(struct buf *out, uint16_t id)
{
	static const char COMPLETE[BODY];

	add_one(out, RECORDS_END, id, COMPLETE, sizeof(COMPLETE));
}

/* A length has one byte, or four if the highest bit of the first is set. */
static bool
take_length(const char **data, size_t *len, size_t *out)
{
	const unsigned char *p = (const unsigned char *)*data;
	size_t n;

	if (*len == 0)
		return false;
	n = p[0] < 0x80 ? 1 : 4;
	if (*len < n)
		return false;
	*out = n == 1 ? p[0]
		      : (size_t)(p[0] & 0x7f) << 24 | (size_t)p[1] << 16 |
		(size_t)p[2] << 8 | p[3];
	skip(data, len, n);
	return true;
}

static void
add_length(struct buf *to, size_t len)
{
	const unsigned char bytes[] = { (unsigned char)(0x80 | len >> 24),
		(unsigned char)(len >> 16), (unsigned char)(len >> 8),
		(unsigned char)len };

	if (len < 0x80)
		buf_add(to, bytes + 3, 1);
	else
		buf_add(to, bytes, sizeof(bytes));
}

void
records_add_param(struct buf *params, const char *name, const char *value)
{
	add_length(params, strlen(name));
	add_length(params, strlen(value));
	buf_str(params, name);
	buf_str(params, value);
}

bool
records_param(const struct buf *params, const char *name,
    struct records_param *out)
{
	const char *data = params->data;
	size_t len = params->len, want = strlen(name);

	while (len > 0) {
		size_t at = params->len - len, name_len, value_len;

		if (!take_length(&data, &len, &name_len) ||
		    !take_length(&data, &len, &value_len) || name_len > len ||
		    value_len > len - name_len)
			return false;
		if (name_len == want && memcmp(data, name, want) == 0) {
			*out = (struct records_param){ .at = at,
				.size = params->len - len - at + name_len +
				    value_len,
				.value = data + name_len,
				.len = value_len };
			return true;
		}
		skip(&data, &len, name_len + value_len);
	}
	return false;
}
