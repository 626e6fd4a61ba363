/*
 * records.h: parses and writes FastCGI records.
 *
 * libfcgi has only the side that answers, and copies everything that it sends.
 * The pool `stream`, between nginx and wrappers (api/stream/stream.h), and the
 * code that sends files (web/server.c) need the framing itself.  There is no
 * I/O here: bytes go in, in any portions, and pieces come out.  No length is
 * trusted beyond the bytes that are there.
 */
#ifndef SANDLEASE_WEB_RECORDS_H
#define SANDLEASE_WEB_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/str.h"

enum { RECORDS_HEADER = 8, RECORDS_CONTENT_MAX = 65535 };

enum records_type {
	RECORDS_BEGIN = 1,
	RECORDS_ABORT = 2,
	RECORDS_END = 3,
	RECORDS_PARAMS = 4,
	RECORDS_STDIN = 5,
	RECORDS_STDOUT = 6,
};

/* The position in a sequence of records.  Start with { 0 }. */
struct records {
	unsigned char header[RECORDS_HEADER];
	size_t have;    /* bytes of the header so far */
	size_t content; /* bytes of the content that are still to come */
	size_t padding; /* the same for the padding */
};

/* A part of a record's content.  An empty record is one piece of 0 bytes. */
struct records_piece {
	int type; /* not checked: any number the peer sent */
	uint16_t id;
	const char *data; /* borrowed from the input */
	size_t len;
	bool last; /* the record's content ends with this piece */
};

/*
 * Takes the next piece from *data, *len.  1: *out has a piece; 0: all bytes are
 * used up; -1: this is not FastCGI.
 */
int records_next(struct records *r, const char **data, size_t *len,
    struct records_piece *out);

/* Writes the header of a record of `len` bytes, at most RECORDS_CONTENT_MAX. */
void records_header(unsigned char out[RECORDS_HEADER], enum records_type type,
    uint16_t id, size_t len);

/* Adds records of that type; `len` 0 adds the empty one that ends a stream. */
void records_add(struct buf *out, enum records_type type, uint16_t id,
    const char *data, size_t len);

/* Add the record that begins a request, and the one that ends its answer. */
void records_begin(struct buf *out, uint16_t id);
void records_end(struct buf *out, uint16_t id);

/* A pair of name and value in the content of RECORDS_PARAMS. */
struct records_param {
	size_t at, size; /* of the whole pair */
	const char *value;
	size_t len;
};

/* Adds a name and its value to the content of RECORDS_PARAMS. */
void records_add_param(struct buf *params, const char *name, const char *value);

/* Finds a pair by name.  False: it is not there, or the content is cut. */
bool records_param(const struct buf *params, const char *name,
    struct records_param *out);

#endif
