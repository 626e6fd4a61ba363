/* body.c: gives the routes the body of a request on /ws. */
#include "agent/ws/body.h"

#include <string.h>

#include "agent/base/lock.h"
#include "common/base64.h"
#include "common/mem.h"

/* Above this sum large bodies wait, except when no other body is held. */
enum { HELD_MAX = 128 * 1024 * 1024 };

static struct lock lock = LOCK_INIT(LOCK_WS_BODY);
static pthread_cond_t less_held = PTHREAD_COND_INITIALIZER;
static size_t all_held; /* under the lock */

/* Adds the body to all_held; a large body waits for room before. */
static void
wait_for_room(struct ws_body *b)
{
	b->held = b->text.len;
	lock_take(&lock);
	while (all_held > 0 && b->held > WS_PARSED_MAX &&
	    all_held + b->held > HELD_MAX)
		lock_wait(&less_held, &lock);
	all_held += b->held;
	lock_drop(&lock);
}

void
ws_body_free(struct ws_body *b)
{
	buf_free(&b->text);
	lock_take(&lock);
	all_held -= b->held;
	pthread_cond_broadcast(&less_held);
	lock_drop(&lock);
	*b = (struct ws_body){ 0 };
}

/* ---- decoding */

/* Takes the text of a body that must be a JSON string; false if it is not. */
static bool
take_string(struct ws_body *b, const json_t *body)
{
	ssize_t len;

	if (b->left.len == 0) { /* ws_request_parse() has parsed the body */
		buf_add(&b->text, json_string_value(body),
		    json_string_length(body));
		b->left.len = b->text.len;
		return json_is_string(body);
	}
	len = bigjson_unescape(b->text.data + b->left.at, b->left.len);
	b->left.len = len > 0 ? (size_t)len : 0;
	return len >= 0;
}

static bool
decode_bytes(struct ws_body *b, const char *encoding)
{
	struct buf bytes = { 0 };
	bool valid;

	if (!str_equal(encoding, "base64"))
		return str_equal(encoding, "") || str_equal(encoding, "utf-8");
	valid = base64_decode(&bytes, b->text.data + b->left.at, b->left.len);
	buf_free(&b->text);
	b->text = bytes;
	b->left = (struct bigjson_value){ 0, bytes.len };
	return valid;
}

bool
ws_body_take(struct ws_body *b, struct ws_request *r, struct buf *message,
    bool bytes)
{
	bool good = true;

	b->left = r->body_text;
	if (b->left.len > 0) {
		b->text = *message;
		*message = (struct buf){ 0 };
	}
	if (bytes && (b->left.len > 0 || r->body != NULL)) {
		good = take_string(b, r->body) &&
		    decode_bytes(b, json_str(r->msg, "encoding"));
	} else if (r->body != NULL) {
		b->text.data =
		    json_dumps(r->body, JSON_ENCODE_ANY | JSON_COMPACT);
		b->left.len = b->text.len = strlen(b->text.data);
	}
	if (r->body != NULL)
		json_object_del(r->msg, "body");
	r->body = NULL;
	wait_for_room(b);
	return good;
}

ssize_t
ws_body_read(struct ws_body *b, char *to, size_t max)
{
	if (max > b->left.len)
		max = b->left.len;
	if (max > 0)
		memcpy(to, b->text.data + b->left.at, max);
	b->left.at += max;
	b->left.len -= max;
	if (b->left.len == 0) /* the route has read everything */
		ws_body_free(b);
	return (ssize_t)max;
}
