/* story.c: prints a session's events as sentences. */
#include "cli/story.h"

#include <string.h>
#include <time.h>

#include "cli/show.h"
#include "common/mem.h"
#include "common/str.h"

/*
 * The words for an event with members "kind" and "what"; "*" is any other
 * "what".  Words of NULL hide the event.  Events of leases and steps are of use
 * to operators only: `logs --all` prints them.
 */
static const struct {
	const char *kind, *what, *words;
} WORDS[] = {
	{ "state", "initializing", "starts" },
	{ "state", "ready", "is ready" },
	{ "state", "sleeping", "is being stopped" },
	{ "state", "asleep", "sleeps" },
	{ "state", "deleting", "is being deleted" },
	{ "state", "deleted", "is deleted" },
	{ "state", "failed", "could not be started" },
	{ "state", "lost", "has lost its files" },
	{ "setup", "output", NULL },
	{ "setup", "done", "setup is done" },
	{ "setup", "failed", "setup failed" },
	{ "lease", "delivery_accepted", "got its first call" },
	{ "lease", "*", NULL },
	{ "step", "*", NULL },
	{ "interrupt", "*", "commands were interrupted" },
	{ "agent", "died", "its agent died" },
	{ "disk", "frozen", "was stopped for a moment: its disk is full" },
	{ "disk", "thawed", "goes on: there is room on its disk again" },
	{ "disk", "over_limit", "has used all of its disk" },
	{ "network", "denied", "may not connect" },
	{ "change", "settings", "got other settings" },
	{ "change", "env", "got other variables" },
};

/* The words for an event; "": it is hidden.  `other` is memory for them. */
static const char *
words_of(const json_t *event, char other[64])
{
	const char *kind = json_str(event, "kind"),
		   *what = json_str(event, "what");

	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
		if (str_equal(WORDS[i].kind, kind) &&
		    (str_equal(WORDS[i].what, what) ||
			str_equal(WORDS[i].what, "*")))
			return WORDS[i].words != NULL ? WORDS[i].words : "";
	snprintf(other, 64, "%.20s %.40s", kind, what);
	return other;
}

/* Appends the actor: a person by name, the service by its part. */
static void
add_actor(struct buf *line, const char *actor)
{
	const char *slash = strrchr(actor, '/');

	if (str_starts(actor, "gate"))
		buf_fmt(line, ", by a call%s%s", slash != NULL ? " of " : "",
		    slash != NULL ? slash + 1 : "");
	else if (str_starts(actor, "key:") && slash != NULL)
		buf_fmt(line, ", by %s", slash + 1);
	else if (actor[0] != '\0')
		buf_fmt(line, ", by %s", actor);
}

/* Appends the host and port of a connection that was refused. */
static void
add_host(struct buf *line, const json_t *detail)
{
	const char *host = json_str(detail, "host");
	json_int_t port = json_integer_value(json_object_get(detail, "port"));

	if (host[0] == '\0')
		return;
	if (port == 0)
		buf_fmt(line, " to %s", host);
	else if (strchr(host, ':') != NULL) /* an IPv6 address */
		buf_fmt(line, " to [%s]:%lld", host, (long long)port);
	else
		buf_fmt(line, " to %s:%lld", host, (long long)port);
}

/* Appends the reason, and what "detail" adds to it, such as an address. */
static void
add_reason(struct buf *line, const char *reason, const json_t *detail)
{
	const char *more = json_str(detail, "detail");

	if (reason[0] != '\0')
		buf_fmt(line, " (%s%s%s)", reason, more[0] != '\0' ? ": " : "",
		    more);
}

/* Appends the names of the settings that were changed: members of `detail`. */
static void
add_settings(struct buf *line, const json_t *detail)
{
	const char *key, *before = " (";
	json_t *v;

	json_object_foreach((json_t *)(uintptr_t)detail, key, v)
	{
		buf_fmt(line, "%s%s", before, key);
		before = ", ";
	}
	if (json_object_size(detail) > 0)
		buf_str(line, ")");
}

static void
add_time(struct buf *line, const char *iso)
{
	struct tm utc = { 0 }, local;
	char text[32];
	time_t at;

	if (strptime(iso, "%Y-%m-%dT%H:%M:%S", &utc) == NULL) {
		buf_str(line, iso);
		return;
	}
	at = timegm(&utc);
	localtime_r(&at, &local);
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &local);
	buf_str(line, text);
}

/* Prints the output of a command, below the line of its event. */
static void
print_indented(const char *text, FILE *to)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		auto_free char *line = xasprintf("    %.*s\n", (int)n, text);

		show_text(line, to);
		text += n + (text[n] == '\n');
	}
}

void
story_print(const json_t *event, FILE *to)
{
	const json_t *detail = json_object_get(event, "detail");
	const json_t *code = json_object_get(detail, "exitCode");
	int64_t ms = json_integer_value(json_object_get(event, "durationMs"));
	bool ready = str_equal(json_str(event, "what"), "ready");
	auto_buf struct buf line = { 0 };
	char other[64];
	const char *words = words_of(event, other);

	/* only from these events: the last one of a setup repeats the text */
	if (str_equal(json_str(event, "kind"), "setup") &&
	    str_equal(json_str(event, "what"), "output"))
		print_indented(json_str(detail, "text"), to);
	if (words[0] == '\0')
		return;
	add_time(&line, json_str(event, "at"));
	buf_fmt(&line, "  %s", words);
	add_host(&line, detail);
	add_reason(&line, json_str(event, "reason"), detail);
	if (str_equal(json_str(event, "kind"), "change") &&
	    str_equal(json_str(event, "what"), "settings"))
		add_settings(&line, detail);
	if (json_is_integer(code))
		buf_fmt(&line, " with exit code %lld",
		    (long long)json_integer_value(code));
	if (ready && ms > 0)
		buf_fmt(&line, " after %lld ms", (long long)ms);
	if (!ready)
		add_actor(&line, json_str(event, "actor"));
	buf_str(&line, "\n");
	show_text(line.data, to);
	print_indented(json_str(detail, "log"), to);
}

void
story_process(const json_t *process, FILE *to)
{
	const json_t *code = json_object_get(process, "exitCode");
	auto_buf struct buf line = { 0 };

	add_time(&line, json_str(process, "startTime"));
	buf_fmt(&line, "  process %s: %s, %s", json_str(process, "id"),
	    json_str(process, "command"), json_str(process, "status"));
	if (json_is_integer(code))
		buf_fmt(&line, " with exit code %lld",
		    (long long)json_integer_value(code));
	buf_str(&line, "\n");
	show_text(line.data, to);
}
