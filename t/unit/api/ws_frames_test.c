/* ws_frames_test.c: tests the frames of a WebSocket. */
#include "../unit.h"

#include <string.h>

#include "api/stream/ws_frames.h"
#include "common/mem.h"

/* Adds a client's frame, which is masked. */
static void
add_masked(struct buf *to, unsigned first, const char *data, size_t len)
{
	static const unsigned char MASK[] = { 1, 2, 0x83, 4 };
	unsigned char head[4] = { (unsigned char)first };

	assert_true(len < 0x10000);
	if (len < 126) {
		head[1] = (unsigned char)(0x80 | len);
		buf_add(to, head, 2);
	} else {
		head[1] = 0x80 | 126;
		head[2] = (unsigned char)(len >> 8);
		head[3] = (unsigned char)len;
		buf_add(to, head, 4);
	}
	buf_add(to, MASK, sizeof(MASK));
	for (size_t i = 0; i < len; i++)
		buf_add(to, &(char){ (char)(data[i] ^ MASK[i % 4]) }, 1);
}

/* Reads frames in portions: raw bytes as they came, messages without masks. */
static void
see(const struct buf *in, size_t portion, struct buf *raw, struct buf *messages)
{
	struct ws_frames f = { 0 };
	struct ws_frames_piece p;

	for (size_t at = 0; at < in->len; at += portion) {
		const char *data = in->data + at;
		size_t len = in->len - at < portion ? in->len - at : portion;

		while (ws_frames_next(&f, &data, &len, &p)) {
			buf_add(raw, p.raw, p.len);
			if (p.control)
				continue;
			if (p.is_head && p.first)
				buf_str(messages, p.text ? "t:" : "b:");
			if (!p.is_head)
				ws_frames_unmask(&f, &p, messages);
			assert_int_equal(ws_frames_between_messages(&f),
			    p.message_end);
			if (p.message_end)
				buf_str(messages, "\n");
		}
		assert_int_equal(len, 0);
	}
	assert_true(ws_frames_between_messages(&f));
}

static void
messages_are_seen_in_any_portions(void **state)
{
	auto_buf struct buf in = { 0 };
	char large[300];

	(void)state;
	memset(large, 'x', sizeof(large));
	add_masked(&in, 0x81, "one", 3);
	add_masked(&in, 0x01, "tw", 2);
	add_masked(&in, 0x89, "ping", 4);
	add_masked(&in, 0x00, "", 0);
	add_masked(&in, 0x80, "o", 1);
	add_masked(&in, 0x82, "", 0);
	add_masked(&in, 0x81, large, sizeof(large));
	for (size_t portion = 1; portion <= in.len; portion++) {
		auto_buf struct buf raw = { 0 }, messages = { 0 };

		see(&in, portion, &raw, &messages);
		assert_int_equal(raw.len, in.len);
		assert_memory_equal(raw.data, in.data, in.len);
		assert_int_equal(messages.len, 6 + 6 + 3 + 3 + sizeof(large));
		assert_memory_equal(messages.data, "t:one\nt:two\nb:\nt:xx",
		    19);
	}
}

static void
a_frame_of_ours_is_read_again(void **state)
{
	static const size_t SIZES[] = { 0, 1, 125, 126, 65535, 65536, 70000 };
	static char data[70000];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(SIZES); i++) {
		auto_buf struct buf frame = { 0 }, raw = { 0 }, text = { 0 };

		ws_frames_add_text(&frame, data, SIZES[i]);
		see(&frame, frame.len, &raw, &text);
		assert_int_equal(text.len, SIZES[i] + 3);
	}
}

static void
a_close_may_stand_between_fragments_a_message_not(void **state)
{
	static const char HALF[] = { 0x01, 2, 'a', 'b' };
	struct ws_frames f = { 0 };
	struct ws_frames_piece p;
	const char *data = HALF;
	size_t len = 3;

	(void)state;
	assert_true(ws_frames_between_frames(&f));
	while (ws_frames_next(&f, &data, &len, &p))
		assert_false(ws_frames_between_frames(&f));
	len = 1;
	assert_true(ws_frames_next(&f, &data, &len, &p));
	assert_true(ws_frames_between_frames(&f));
	assert_false(ws_frames_between_messages(&f));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(messages_are_seen_in_any_portions),
		cmocka_unit_test(a_frame_of_ours_is_read_again),
		cmocka_unit_test(
		    a_close_may_stand_between_fragments_a_message_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
