/*
 * records.h: the records of FastCGI, both ways, and nothing else.
 *
 * libfcgi knows only the end that answers, and copies what it sends; who stands
 * between nginx and a wrapper (api/stream/stream.h) or sends a file (web/server.c)
 * needs the framing itself.  Pure: bytes in, pieces
 * out, in whatever portions they come; no length is believed beyond what is
 * there.
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

/* Where in a sequence of records one is.  Start with { 0 }. */
struct records {
	unsigned char header[RECORDS_HEADER];
	size_t have;    /* bytes of the header */
	size_t content; /* bytes still to come */
	size_t padding;
};

/* Some of a record's content.  An empty record is one piece of no bytes. */
struct records_piece {
	int type; /* any number: a peer may say what it likes */
	uint16_t id;
	const char *data; /* borrowed from the input */
	size_t len;
	bool last; /* the record ends with it */
};

/*
 * Takes the next piece out of *data, *len.  1: here it is; 0: everything is
 * taken; -1: this is not FastCGI.
 */
int records_next(struct records *r, const char **data, size_t *len,
    struct records_piece *out);

/* What stands before `len` bytes, at most RECORDS_CONTENT_MAX. */
void records_header(unsigned char out[RECORDS_HEADER], enum records_type type,
    uint16_t id, size_t len);

/* Adds records of that type; `len` 0 makes the empty one, which ends it. */
void records_add(struct buf *out, enum records_type type, uint16_t id,
    const char *data, size_t len);

/* What begins a request, and what ends its answer. */
void records_begin(struct buf *out, uint16_t id);
void records_end(struct buf *out, uint16_t id);

/* A name and its value in the content of RECORDS_PARAMS. */
struct records_param {
	size_t at, size; /* of the whole pair */
	const char *value;
	size_t len;
};

/* Adds a name and its value to the content of RECORDS_PARAMS. */
void records_add_param(struct buf *params, const char *name, const char *value);

/* False when it is not there, or something before it is cut off. */
bool records_param(const struct buf *params, const char *name,
    struct records_param *out);

#endif
