/* server.c: accepts calls by FastCGI (libfcgi is used only here) or CGI. */
#include "web/server.h"

#include <errno.h>
#include <fcgiapp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/mem.h"
#include "web/records.h"

struct server {
	FCGX_Request request;
	unsigned turned_away_at_accept;
	bool reads_body; /* under the lock */
	struct server *next;
};

static atomic_uint turned_away; /* how often server_turn_away() was called */
static atomic_bool bodies_ended;

/* All servers of this process, for server_cut_bodies(). */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct server *servers;

/* ---- FastCGI */

static FCGX_Request *
request_of(void *ctx)
{
	struct server *s = ctx;

	return &s->request;
}

/* The result of a read for which libfcgi has returned n bytes. */
static ssize_t
read_result(const struct server *s, int n)
{
	if (atomic_load(&turned_away) != s->turned_away_at_accept) {
		errno = ECANCELED;
		return -1;
	}
	if (atomic_load(&bodies_ended)) {
		errno = ESHUTDOWN;
		return -1;
	}
	/* the stream also ends when the client goes, but then with an error */
	errno = 0;
	if (n <= 0)
		return FCGX_GetError(s->request.in) == 0 ? 0 : -1;
	return n;
}

/*
 * server_cut_bodies() may shut down only sockets of calls that wait for their
 * body.  A call that waits for a command would think that its client has gone.
 */
static void
set_reads_body(struct server *s, bool reads)
{
	pthread_mutex_lock(&lock);
	s->reads_body = reads;
	pthread_mutex_unlock(&lock);
}

static ssize_t
fcgi_read(void *ctx, char *to, size_t max)
{
	int n;

	set_reads_body(ctx, true);
	n = FCGX_GetStr(to, (int)max, request_of(ctx)->in);
	set_reads_body(ctx, false);
	return read_result(ctx, n);
}

/* FCGX_GetStr() alone would wait until `max` bytes are there. */
static ssize_t
fcgi_read_some(void *ctx, char *to, size_t max)
{
	FCGX_Stream *in = request_of(ctx)->in;
	size_t there, n = 0;

	if (in->rdNext == in->stop) {
		int first;

		set_reads_body(ctx, true);
		first = FCGX_GetChar(in);
		set_reads_body(ctx, false);
		if (first < 0)
			return read_result(ctx, 0);
		to[n++] = (char)first;
	}
	there = (size_t)(in->stop - in->rdNext);
	if (n + there > max)
		there = max - n;
	if (there > 0)
		n += (size_t)FCGX_GetStr(to + n, (int)there, in);
	return read_result(ctx, (int)n);
}

/*
 * Large data is sent in records of our own, between those of libfcgi, after its
 * buffer was flushed.  libfcgi would copy everything twice, 8 KB at a time.
 */
enum {
	RECORD_BYTES = 15 * 4096, /* of 65535 possible: whole pages */
	COPY_BYTES = 8192,
	LARGE = 8192
};

static int
send_all(int to, const void *data, size_t len)
{
	const char *p = data;

	while (len > 0) {
		ssize_t n = send(to, p, len, MSG_NOSIGNAL);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}

static int
send_head(const FCGX_Request *r, size_t len)
{
	unsigned char head[RECORDS_HEADER];

	records_header(head, RECORDS_STDOUT, (uint16_t)r->requestId, len);
	return send_all(r->ipcFd, head, sizeof(head));
}

/*
 * The file ended before the record that its header announced: fills the rest
 * with zeros.  Returns -1.
 */
static int
fill_record(int to, size_t len)
{
	static const char ZEROS[4096];

	while (len > 0) {
		size_t n = len < sizeof(ZEROS) ? len : sizeof(ZEROS);

		if (send_all(to, ZEROS, n) < 0)
			break;
		len -= n;
	}
	return -1;
}

/* Sends part of a file; copies it where sendfile() does not work. */
static ssize_t
send_some(int to, int fd, off_t *from, size_t len)
{
	char copy[COPY_BYTES];
	ssize_t n = sendfile(to, fd, from, len);

	if (n >= 0 || errno != EINVAL)
		return n;
	n = pread(fd, copy, len < sizeof(copy) ? len : sizeof(copy), *from);
	if (n > 0 && send_all(to, copy, (size_t)n) < 0)
		return -1;
	*from += n > 0 ? n : 0;
	return n;
}

static int
send_record(const FCGX_Request *r, int fd, off_t *from, size_t len)
{
	if (send_head(r, len) < 0)
		return -1;
	while (len > 0) {
		ssize_t n = send_some(r->ipcFd, fd, from, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return fill_record(r->ipcFd, len);
		len -= (size_t)n;
	}
	return 0;
}

static int
fcgi_write(void *ctx, const char *from, size_t len)
{
	FCGX_Request *r = request_of(ctx);

	if (len < LARGE)
		return FCGX_PutStr(from, (int)len, r->out) < 0 ? -1 : 0;
	if (FCGX_FFlush(r->out) < 0)
		return -1;
	while (len > 0) {
		size_t n = len < RECORD_BYTES ? len : RECORD_BYTES;

		if (send_head(r, n) < 0 || send_all(r->ipcFd, from, n) < 0)
			return -1;
		from += n;
		len -= n;
	}
	return 0;
}

static int
fcgi_flush(void *ctx)
{
	FCGX_Request *r = request_of(ctx);

	return FCGX_FFlush(r->out) < 0 ? -1 : 0;
}

static int
fcgi_send_file(void *ctx, int fd, off_t from, int64_t len)
{
	FCGX_Request *r = request_of(ctx);

	if (FCGX_FFlush(r->out) < 0)
		return -1;
	while (len > 0) {
		size_t n = len < RECORD_BYTES ? (size_t)len : RECORD_BYTES;

		if (send_record(r, fd, &from, n) < 0)
			return -1;
		len -= (int64_t)n;
	}
	return 0;
}

/*
 * libfcgi ends a request when its last output stream is closed.  nginx holds a
 * short answer back until no more can come, so the socket is shut down, too.
 */
static void
fcgi_end(void *ctx)
{
	FCGX_Request *r = request_of(ctx);

	(void)!FCGX_FClose(r->err);
	(void)!FCGX_FClose(r->out);
	(void)shutdown(r->ipcFd, SHUT_WR);
}

/*
 * nginx takes every end of the connection for a complete answer.  So this sends
 * bytes that are not a FastCGI record, and nginx fails the request.
 */
static void
fcgi_cut(void *ctx)
{
	static const char NO_RECORD[RECORDS_HEADER];
	FCGX_Request *r = request_of(ctx);

	(void)!FCGX_FFlush(r->out);
	(void)!send_all(r->ipcFd, NO_RECORD, sizeof(NO_RECORD));
}

/* The value in "NAME=value"; NULL: the name is another. */
static const char *
value_of(const char *pair, const char *name)
{
	while (*name != '\0' && *name == *pair) {
		name++;
		pair++;
	}
	return *name == '\0' && *pair == '=' ? pair + 1 : NULL;
}

/* As FCGX_GetParam(), but most names are another from their first byte on. */
static const char *
fcgi_param(void *ctx, const char *name)
{
	const FCGX_Request *r = request_of(ctx);
	const char *value = NULL;

	for (char **p = r->envp; *p != NULL && value == NULL; p++)
		value = value_of(*p, name);
	return value;
}

static bool
fcgi_repeated(void *ctx, const char *name)
{
	const FCGX_Request *r = request_of(ctx);
	size_t count = 0;

	for (char **p = r->envp; *p != NULL; p++)
		count += value_of(*p, name) != NULL;
	return count > 1;
}

static int
fcgi_fd(void *ctx)
{
	const FCGX_Request *r = request_of(ctx);

	return r->ipcFd;
}

static const struct call_io FASTCGI = {
	.read = fcgi_read,
	.read_some = fcgi_read_some,
	.write = fcgi_write,
	.flush = fcgi_flush,
	.send_file = fcgi_send_file,
	.end = fcgi_end,
	.cut = fcgi_cut,
	.param = fcgi_param,
	.repeated = fcgi_repeated,
	.fd = fcgi_fd,
};

/* ---- plain CGI */

/*
 * Bytes of the body that are left; -1: the length is unknown.  It is counted
 * because a web server need not close stdin after the body.  A process serves
 * one request, so one counter is enough.
 */
static int64_t cgi_left;

static ssize_t
cgi_read(void *ctx, char *to, size_t max)
{
	size_t n;

	(void)ctx;
	if (cgi_left >= 0 && (int64_t)max > cgi_left)
		max = (size_t)cgi_left;
	n = fread(to, 1, max, stdin);
	if (cgi_left > 0)
		cgi_left -= (int64_t)n;
	return n == 0 && ferror(stdin) ? -1 : (ssize_t)n;
}

static int
cgi_write(void *ctx, const char *from, size_t len)
{
	(void)ctx;
	return fwrite(from, 1, len, stdout) == len ? 0 : -1;
}

static int
cgi_flush(void *ctx)
{
	(void)ctx;
	return fflush(stdout) == 0 ? 0 : -1;
}

static const char *
cgi_param(void *ctx, const char *name)
{
	(void)ctx;
	return getenv(name);
}

static const struct call_io CGI = {
	.read = cgi_read,
	.write = cgi_write,
	.flush = cgi_flush,
	.param = cgi_param,
};

/* ---- both */

/* Uses the client's trace id if it is harmless, else the request id. */
static void
set_trace_id(struct call *c)
{
	static const char *const SOURCES[] = { "HTTP_X_TRACE_ID",
		"HTTP_TRACEPARENT" };

	for (size_t i = 0; i < ARRAY_LEN(SOURCES); i++) {
		const char *s = call_param(c, SOURCES[i]);

		if (str_made_of(s,
			"abcdefghijklmnopqrstuvwxyz"
			"ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.",
			1, sizeof(c->trace_id) - 1)) {
			str_copy(c->trace_id, sizeof(c->trace_id), s);
			return;
		}
	}
	str_copy(c->trace_id, sizeof(c->trace_id), c->request_id);
}

void
server_call(struct call *c, const struct call_io *io, void *ctx)
{
	const char *path, *id;

	*c = (struct call){ .io = io, .io_ctx = ctx };
	c->method = call_param(c, "REQUEST_METHOD");
	path = call_param(c, "SL_PATH");
	c->path = path[0] != '\0' ? path : call_param(c, "PATH_INFO");
	/* nginx's id, so that its log and ours name the request alike */
	id = call_param(c, "SL_REQUEST_ID");
	if (!str_made_of(id, "0123456789abcdef", 1,
		sizeof(c->request_id) - 1) ||
	    !str_copy(c->request_id, sizeof(c->request_id), id))
		id_random(c->request_id, ID_REQUEST_LEN);
	set_trace_id(c);
}

bool
server_is_fastcgi(void)
{
	int listening = 0;
	socklen_t len = sizeof(listening);

	return getsockopt(STDIN_FILENO, SOL_SOCKET, SO_ACCEPTCONN, &listening,
		   &len) == 0 &&
	    listening != 0;
}

/*
 * libfcgi installs its own signal handlers if there are none.  With them
 * SIGTERM would no longer end a process, so the old ones are restored.
 */
int
server_init(struct err *e)
{
	static const int SIGNALS[] = { SIGTERM, SIGUSR1, SIGPIPE };
	struct sigaction before[ARRAY_LEN(SIGNALS)];
	int rc;

	for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++)
		sigaction(SIGNALS[i], NULL, &before[i]);
	rc = FCGX_Init();
	for (size_t i = 0; i < ARRAY_LEN(SIGNALS); i++)
		sigaction(SIGNALS[i], &before[i], NULL);
	if (rc != 0)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "libfcgi cannot be initialised");
	return 0;
}

struct server *
server_new(int listen_fd)
{
	struct server *s = xcalloc(1, sizeof(*s));

	FCGX_InitRequest(&s->request, listen_fd, FCGI_FAIL_ACCEPT_ON_INTR);
	pthread_mutex_lock(&lock);
	s->next = servers;
	servers = s;
	pthread_mutex_unlock(&lock);
	return s;
}

void
server_free(struct server *s)
{
	struct server **at = &servers;

	pthread_mutex_lock(&lock);
	while (*at != s)
		at = &(*at)->next;
	*at = s->next;
	pthread_mutex_unlock(&lock);
	FCGX_Free(&s->request, 1);
	free(s);
}

int
server_accept(struct server *s, struct call *c)
{
	if (FCGX_Accept_r(&s->request) < 0)
		return -1;
	s->turned_away_at_accept = atomic_load(&turned_away);
	server_call(c, &FASTCGI, s);
	return 0;
}

void
server_turn_away(void)
{
	atomic_fetch_add(&turned_away, 1);
}

void
server_end_bodies(void)
{
	atomic_store(&bodies_ended, true);
}

void
server_cut_bodies(void)
{
	pthread_mutex_lock(&lock);
	for (struct server *s = servers; s != NULL; s = s->next)
		if (s->reads_body)
			shutdown(s->request.ipcFd, SHUT_RD);
	pthread_mutex_unlock(&lock);
}

void
server_finish(struct server *s, struct call *c)
{
	call_release(c);
	FCGX_Finish_r(&s->request);
}

void
server_cgi(struct call *c)
{
	server_call(c, &CGI, NULL);
	cgi_left = -1;
	(void)!str_to_int(call_param(c, "CONTENT_LENGTH"), 0, INT64_MAX,
	    &cgi_left);
}
