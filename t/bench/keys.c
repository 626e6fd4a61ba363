/* keys.c: measures the time from a key at a shell's prompt to its echo. */
#include "bench/keys.h"

#include <string.h>

#include "common/clock.h"
#include "common/mem.h"

enum { POLL_MS = 1000, WARM = 10 };

struct keys {
	struct visit
	    out; /* output of the terminal; `in` is the bench's visit */
	struct stats lag;
	struct buf line;
	size_t typed;
	bool echoed; /* the echo of the last key has come */
	bool taken;  /* the service has answered the last key */
};

/* The keys that are typed and the echo of each: a letter, and its removal. */
static const struct {
	const char *body, *echo;
} KEYS[] = {
	{ "{\"data\":\"x\"}", "\"data\":\"eA==\"" },
	{ "{\"data\":\"\\u007f\"}", "\"data\":\"CBtbSw==\"" },
};

/* The first output, before any key, is the shell's prompt or a part of it. */
static bool
is_echo(const struct keys *k)
{
	static const char OUTPUT[] = "data: {\"type\":\"output\"";
	const char *line = k->line.data;

	return k->line.len > 0 && str_starts(line, OUTPUT) &&
	    (k->typed == 0 ||
		strstr(line, KEYS[(k->typed - 1) % ARRAY_LEN(KEYS)].echo) !=
		    NULL);
}

static size_t
take_events(char *data, size_t size, size_t count, void *context)
{
	struct keys *k = context;

	for (size_t i = 0; i < size * count; i++) {
		if (data[i] != '\n') {
			buf_add(&k->line, data + i, 1);
			continue;
		}
		if (is_echo(k)) {
			k->out.answered_us = clock_us();
			k->echoed = true;
		}
		k->line.len = 0;
	}
	return size * count;
}

static int
ask_now(struct bench *b, const char *path, const char *body, struct err *e)
{
	struct visit *v = b->visits;

	bench_ask(b, v, "POST", path, body);
	v->answer.len = 0;
	if (curl_easy_perform(v->easy) != CURLE_OK)
		return err_set(e, ERR_UNAVAILABLE, CODE_FAILED, "no answer");
	curl_easy_getinfo(v->easy, CURLINFO_RESPONSE_CODE, &v->status);
	if (v->status != 200)
		return err_set(e, ERR_UNAVAILABLE, CODE_FAILED,
		    "%s: %ld %.100s", path, v->status, v->answer.data);
	return 0;
}

static void
press(CURLM *multi, struct bench *b, struct keys *k)
{
	struct visit *in = b->visits;

	bench_ask(b, in, "POST", "/api/terminal/default/input",
	    KEYS[k->typed++ % ARRAY_LEN(KEYS)].body);
	in->answer.len = 0;
	k->echoed = k->taken = false;
	in->sent_us = clock_us();
	curl_multi_add_handle(multi, in->easy);
}

/* False when a connection has ended too early. */
static bool
see(CURLM *multi, struct bench *b, struct keys *k)
{
	struct visit *in = b->visits;
	const CURLMsg *m;
	int n;

	while ((m = curl_multi_info_read(multi, &n)) != NULL) {
		if (m->easy_handle != in->easy || m->data.result != CURLE_OK)
			return false;
		curl_easy_getinfo(in->easy, CURLINFO_RESPONSE_CODE,
		    &in->status);
		curl_multi_remove_handle(multi, in->easy);
		k->taken = true;
		if (in->status != 200)
			return false;
	}
	return true;
}

/* Waits for the prompt, the first echo; then types one key at a time. */
static bool
type_all(CURLM *multi, struct bench *b, struct keys *k)
{
	int n;

	k->taken = true;
	while (k->lag.count < b->turns) {
		if (curl_multi_perform(multi, &n) != CURLM_OK ||
		    !see(multi, b, k))
			return false;
		if (!k->echoed || !k->taken) {
			curl_multi_poll(multi, NULL, 0, POLL_MS, NULL);
			continue;
		}
		if (k->typed > WARM)
			stats_add(&k->lag,
			    k->out.answered_us - b->visits->sent_us);
		press(multi, b, k);
	}
	return true;
}

static int
follow_and_type(struct bench *b, struct keys *k, struct err *e)
{
	CURLM *multi = curl_multi_init();
	bool all;

	visit_open(&k->out, &b->place);
	str_copy(k->out.session, VISIT_ID_MAX, b->visits->session);
	bench_ask(b, &k->out, "GET", "/api/terminal/default/stream", NULL);
	curl_easy_setopt(k->out.easy, CURLOPT_WRITEFUNCTION, take_events);
	curl_easy_setopt(k->out.easy, CURLOPT_WRITEDATA, k);
	curl_multi_add_handle(multi, k->out.easy);
	all = type_all(multi, b, k);
	curl_multi_remove_handle(multi, k->out.easy);
	curl_multi_remove_handle(multi, b->visits->easy);
	curl_multi_cleanup(multi);
	visit_close(&k->out);
	buf_free(&k->line);
	if (!all)
		return err_set(e, ERR_UNAVAILABLE, CODE_FAILED,
		    "%zu of %zu keys were echoed", k->lag.count, b->turns);
	return 0;
}

int
keys_echo(struct bench *b, char **argv, struct err *e)
{
	struct keys k = { 0 };
	int rc;

	if (bench_sessions(b, argv, 1, e) < 0 ||
	    ask_now(b, "/api/terminal", "{}", e) < 0)
		return -1;
	rc = follow_and_type(b, &k, e);
	stats_print(&k.lag, "keys");
	stats_free(&k.lag);
	return rc;
}
