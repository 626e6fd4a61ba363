/* keys.c: cuts the streams of keys that are no longer valid. */
#include "api/stream/keys.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/channel.h"
#include "common/clock.h"
#include "common/json.h"
#include "common/log.h"
#include "common/mem.h"
#include "store/store.h"

enum {
	EVERY_MS = 1000,
	ASK_S = 10,              /* SIGALRM then ends the asking process */
	PATIENCE_MS = 15 * 1000, /* then the pool starts another process */
	QUIET_MS = 60 * 1000,    /* without a question: close the connection */
	KEYS_MAX = 1500
};

_Static_assert(KEYS_MAX *(ID_MAX + 4) < CHANNEL_MSG_MAX,
    "that many keys fit a message");

/* ---- the process that asks */

/* The keys that are no longer valid; none if the statement fails. */
static json_t *
ended_keys(struct store *store, const json_t *question)
{
	auto_free char *keys = json_text(json_object_get(question, "keys"));
	auto_rows struct rows *r = NULL;
	json_t *ended = json_array();
	struct err e = { 0 };

	if (STORE_RUN(store, STMT_KEYS_ENDED, &r, &e, keys) < 0)
		log_err(LOG_WARN, "stream_keys", &e); /* the pool asks again */
	for (size_t i = 0; r != NULL && i < rows_count(r); i++)
		json_array_append_new(ended,
		    json_string(rows_text(r, i, "id")));
	return json_pack("{s:o}", "ended", ended);
}

static int
answer_question(int fd, struct store *store, struct err *e)
{
	auto_fds struct channel_fds none = { 0 };
	auto_json json_t *question = NULL, *answer = NULL;

	if (channel_recv(fd, clock_ms() + QUIET_MS, &question, &none, e) < 0) {
		store_disconnect(store); /* no stream is open */
		return e->code == CODE_TIMED_OUT ? 0 : -1;
	}
	alarm(ASK_S); /* libpq may wait for minutes if the host is gone */
	answer = ended_keys(store, question);
	alarm(0);
	return channel_send(fd, answer, NULL, 0, e);
}

static void
run_asker(int fd, const struct conf *conf)
{
	static const struct store_options OPTIONS = { "sandlease-stream",
		5000 };
	struct store *store = store_new(conf->database, &OPTIONS);
	struct err e = { 0 };

	prctl(PR_SET_NAME, "sandlease-keys");
	while (answer_question(fd, store, &e) == 0)
		;
	store_free(store);
}

/* Starts the process that asks; returns its socket, or -1. */
static int
start_asker(const struct conf *conf)
{
	int ends[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0) {
		log_line(LOG_ERROR, "stream_keys", "%s", strerror(errno));
		return -1;
	}
	pid = fork();
	if (pid == 0) {
		/* the child ends after the pool (end of file on its socket), or
		 * by SIGALRM if it hangs; a SIGTERM is meant for the pool */
		signal(SIGTERM, SIG_IGN);
		signal(SIGALRM, SIG_DFL);
		close_range(3, (unsigned)ends[1] - 1, 0);
		close_range((unsigned)ends[1] + 1, ~0U, 0);
		run_asker(ends[1], conf);
		_exit(EXIT_SUCCESS);
	}
	close(ends[1]);
	if (pid < 0) {
		log_line(LOG_ERROR, "fork", "%s", strerror(errno));
		close(ends[0]);
		return -1;
	}
	/* the pool must not block, even if the child hangs */
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	return ends[0];
}

/* ---- the pool */

static void
drop_asker(struct stream_keys *k, struct streams *all)
{
	/* stream_keys_ask() starts another process next time */
	if (k->fd >= 0)
		poller_remove(&all->poller, k->fd);
	mem_close_fd(&k->fd);
	k->waiting = 0;
}

/* Sends one question; takes the ownership of `keys`. */
static void
send_keys(struct stream_keys *k, struct streams *all, json_t *keys)
{
	auto_json json_t *question = json_pack("{s:o}", "keys", keys);
	struct err e = { 0 };

	if (k->fd < 0)
		return;
	k->waiting++;
	if (channel_send(k->fd, question, NULL, 0, &e) < 0) {
		log_err(LOG_WARN, "stream_keys", &e);
		drop_asker(k, all);
	}
}

/* Sends each key once, in as many messages as needed. */
static void
send_all_keys(struct stream_keys *k, struct streams *all)
{
	auto_json json_t *seen = json_object();
	json_t *list = json_array();
	const struct stream *s;

	TAILQ_FOREACH(s, &all->all, link)
	{
		if (s->key[0] == '\0' || json_object_get(seen, s->key) != NULL)
			continue;
		json_object_set_new(seen, s->key, json_true());
		json_array_append_new(list, json_string(s->key));
		if (json_array_size(list) == KEYS_MAX) {
			send_keys(k, all, list);
			list = json_array();
		}
	}
	if (json_array_size(list) > 0)
		send_keys(k, all, list);
	else
		json_decref(list);
}

int
stream_keys_wait_ms(const struct stream_keys *k, const struct streams *all)
{
	return all->count == 0 ? -1 : clock_left_ms(k->ask_ms);
}

void
stream_keys_ask(struct stream_keys *k, const struct conf *conf,
    struct streams *all)
{
	if (stream_keys_wait_ms(k, all) != 0)
		return;
	if (k->waiting > 0) {
		log_line(LOG_WARN, "stream_keys",
		    "the process that checks keys did not answer; starting another");
		drop_asker(k, all);
	}
	k->ask_ms = clock_ms() + EVERY_MS;
	if (k->fd < 0) { /* the first time, or after drop_asker() */
		k->fd = start_asker(conf);
		if (k->fd >= 0 &&
		    poller_add(&all->poller, k->fd, EPOLLIN, k) < 0)
			mem_close_fd(&k->fd);
	}
	if (k->fd < 0)
		return;
	send_all_keys(k, all);
	if (k->waiting > 0)
		k->ask_ms = clock_ms() + PATIENCE_MS;
}

static void
cut_streams_of(struct streams *all, const char *key)
{
	struct stream *s, *next;

	for (s = TAILQ_FIRST(&all->all); s != NULL; s = next) {
		next = TAILQ_NEXT(s, link);
		if (str_equal(s->key, key))
			stream_cut(all, s, CODE_UNAUTHORIZED,
			    "The key that opened this stream is no longer valid.");
	}
}

void
stream_keys_answer(struct stream_keys *k, struct streams *all)
{
	auto_fds struct channel_fds none = { 0 };
	auto_json json_t *answer = NULL;
	json_t *key;
	struct err e = { 0 };
	size_t i;

	if (channel_recv(k->fd, clock_ms(), &answer, &none, &e) < 0) {
		drop_asker(k, all);
		return;
	}
	if (--k->waiting == 0)
		k->ask_ms = clock_ms() + EVERY_MS;
	json_array_foreach(json_object_get(answer, "ended"), i, key)
	{
		cut_streams_of(all, json_string_value(key));
	}
}
