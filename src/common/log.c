/* log.c: writes one line per event, each with one write(2). */
#include "common/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"

/*
 * A line has room for the longest values with each byte escaped: a cut value
 * would make the JSON invalid.  It is shorter than PIPE_BUF, because the kernel
 * mixes longer writes of several processes.
 */
enum { LINE_MAX_BYTES = 2048, CONTEXT_MAX = 64 };

const char *const LOG_LEVEL_NAMES[] = { "error", "warn", "info", "debug",
	NULL };
const char *const LOG_FORMAT_NAMES[] = { "kv", "json", NULL };

static const int PRIORITY[LOG__MAX] = { 3, 4, 6, 7 }; /* of syslog(3) */

static const char *program_name = "sandlease";
static enum log_level level_max = LOG_INFO;
static enum log_format line_format = LOG_KV;
static int64_t size_max;
static bool to_journal;
static __thread char request[CONTEXT_MAX];
static __thread char session[CONTEXT_MAX];

struct line {
	char text[LINE_MAX_BYTES];
	size_t len;
};

/* JOURNAL_STREAM holds device and inode of the stream that systemd gave us. */
static bool
stderr_is_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	char ours[64];
	struct stat st;

	if (stream == NULL || fstat(STDERR_FILENO, &st) < 0)
		return false;
	snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)st.st_dev,
	    (uintmax_t)st.st_ino);
	return strcmp(stream, ours) == 0;
}

void
log_open(const char *program, enum log_level level, enum log_format format)
{
	program_name = program;
	level_max = level;
	line_format = format;
	to_journal = stderr_is_journal();
}

void
log_limit(int64_t bytes)
{
	size_max = bytes;
}

/*
 * Keeps the newer half of the file.  Several processes share the file, so a
 * line that another one writes meanwhile may be lost.  A file without a limit
 * would be worse.
 */
static void
cut_file(int64_t size)
{
	size_t keep = (size_t)size_max / 2;
	auto_free char *tail = xmalloc(keep + 1);
	ssize_t n = pread(STDERR_FILENO, tail, keep, size - (int64_t)keep);
	const char *line;

	if (n <= 0 || ftruncate(STDERR_FILENO, 0) < 0)
		return;
	tail[n] = '\0';
	line = strchr(tail, '\n'); /* the first line is cut */
	line = line != NULL ? line + 1 : tail;
	(void)!write(STDERR_FILENO, line, strlen(line));
}

static void
cut_file_if_large(void)
{
	struct stat st;

	if (size_max > 0 && fstat(STDERR_FILENO, &st) == 0 &&
	    S_ISREG(st.st_mode) && st.st_size > size_max)
		cut_file(st.st_size);
}

/* As much of the text as there is room for. */
static void
copy_cut(char *to, size_t size, const char *from)
{
	size_t len = strnlen(from, size - 1);

	memcpy(to, from, len);
	to[len] = '\0';
}

void
log_context(const char *request_id, const char *session_id)
{
	copy_cut(request, sizeof(request), request_id);
	copy_cut(session, sizeof(session), session_id);
}

static void
put_char(struct line *l, char c)
{
	if (l->len < sizeof(l->text) - 4) /* room for `"}\n` and the NUL */
		l->text[l->len++] = c;
}

/*
 * Always quotes, so that a value with a space or a quote stays one value.
 * Replaces control characters and invalid UTF-8, which would make the line
 * unreadable: a path may hold any byte, a cut message half a character.
 */
static void
put_value(struct line *l, const char *s)
{
	put_char(l, '"');
	while (*s != '\0') {
		unsigned char c = (unsigned char)*s;
		int n = utf8_sequence(s, UTF8_LEN_MAX);

		if (c == '"' || c == '\\')
			put_char(l, '\\');
		if (n <= 0 || c < 0x20 || c == 0x7f)
			put_char(l, '?');
		else
			for (int i = 0; i < n; i++)
				put_char(l, s[i]);
		s += n > 0 ? n : 1;
	}
	put_char(l, '"');
}

static void
put_pair(struct line *l, const char *key, const char *value)
{
	bool json = line_format == LOG_JSON;

	if (l->len > 0 && l->text[l->len - 1] != '{' &&
	    l->text[l->len - 1] != '>')
		put_char(l, json ? ',' : ' ');
	if (json)
		put_char(l, '"');
	for (; *key != '\0'; key++)
		put_char(l, *key);
	if (json)
		put_char(l, '"');
	put_char(l, json ? ':' : '=');
	put_value(l, value);
}

void
log_line(enum log_level level, const char *event, const char *fmt, ...)
{
	char msg[ERR_MSG_MAX * 2], at[CLOCK_ISO_MAX];
	struct line l = { .len = 0 };
	va_list ap;

	if (level > level_max)
		return;
	va_start(ap, fmt);
	vsnprintf(msg, sizeof(msg), fmt, ap);
	va_end(ap);
	clock_iso(at);
	if (line_format == LOG_JSON)
		put_char(&l, '{');
	else if (to_journal)
		l.len = (size_t)snprintf(l.text, sizeof(l.text), "<%d>",
		    PRIORITY[level]);
	put_pair(&l, "at", at);
	put_pair(&l, "level", LOG_LEVEL_NAMES[level]);
	put_pair(&l, "program", program_name);
	put_pair(&l, "event", event);
	if (request[0] != '\0')
		put_pair(&l, "request", request);
	if (session[0] != '\0')
		put_pair(&l, "session", session);
	put_pair(&l, "msg", msg);
	if (line_format == LOG_JSON)
		l.text[l.len++] = '}';
	l.text[l.len++] = '\n';
	(void)!write(STDERR_FILENO, l.text, l.len);
	cut_file_if_large();
}

void
log_err(enum log_level level, const char *event, const struct err *e)
{
	log_line(level, event, "%s: %s", code_word(e->code), e->msg);
}
