/* answer.c: follows an answer as it passes, and makes its last event. */
#include "api/stream/answer.h"

#include <string.h>
#include <strings.h>

#include "common/clock.h"
#include "common/json.h"
#include "common/mem.h"

static void
end_line(struct stream_answer *a)
{
	static const char NAME[] = "content-type:",
			  TYPE[] = "text/event-stream";
	const char *value = a->line + sizeof(NAME) - 1;

	if (a->line_len > 0 && a->line[a->line_len - 1] == '\r')
		a->line_len--;
	a->line[a->line_len] = '\0';
	if (a->line_len == 0) {
		a->body = true;
		a->newlines = 2; /* an event may begin here */
	} else if (strncasecmp(a->line, NAME, sizeof(NAME) - 1) == 0) {
		value += strspn(value, " \t");
		a->events = strncasecmp(value, TYPE, sizeof(TYPE) - 1) == 0;
	}
	a->line_len = 0;
}

static void
read_header(struct stream_answer *a, const char **data, size_t *len)
{
	for (; *len > 0 && !a->body; (*data)++, (*len)--) {
		if (**data == '\n')
			end_line(a);
		else if (a->line_len < ANSWER_LINE_MAX - 1)
			a->line[a->line_len++] = **data;
	}
}

void
answer_see(struct stream_answer *a, const char *data, size_t len)
{
	read_header(a, &data, &len);
	if (len == 0)
		return;
	if (data[len - 1] != '\n')
		a->newlines = 0;
	else if (len > 1)
		a->newlines = data[len - 2] == '\n' ? 2 : 1;
	else if (a->newlines < 2)
		a->newlines++;
}

bool
answer_streams(const struct stream_answer *a)
{
	return a->body && a->events;
}

bool
answer_between_events(const struct stream_answer *a)
{
	return answer_streams(a) && a->newlines == 2;
}

void
answer_last_words(const struct stream_answer *a, enum err_code code,
    const char *message, struct buf *out)
{
	auto_json json_t *event = NULL;
	auto_free char *text = NULL;
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	/* clients of commands and files read `data` and `error`, clients of
	 * code the other members */
	event = json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:[], s:s}", "type",
	    "error", "error", message, "data", message, "code",
	    code_capitals(code), "ename", code_capitals(code), "evalue",
	    message, "traceback", "timestamp", at);
	text = json_text(event);
	if (!answer_between_events(a))
		buf_str(out, "\n\n");
	buf_fmt(out, "data: %s\n\n", text);
}

void
answer_busy(const char *message, struct buf *out)
{
	auto_json json_t *body = NULL;
	auto_free char *text = NULL;
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	body = json_pack("{s:s, s:s, s:s, s:{s:s, s:b}, s:i, s:s}", "code",
	    code_capitals(CODE_CONTAINER_UNAVAILABLE), "message", message,
	    "error", message, "context", "reason",
	    code_word(CODE_SERVICE_UNAVAILABLE), "retryable", 1, "httpStatus",
	    503, "timestamp", at);
	text = json_text(body);
	buf_fmt(out,
	    "Status: 503 Service Unavailable\r\n"
	    "Content-Type: application/json\r\n"
	    "Retry-After: 1\r\n\r\n%s",
	    text);
}
