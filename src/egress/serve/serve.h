/*
 * serve.h: the structs that the files of this room share.
 *
 * One process serves the networks of all sessions of a host.  It has no access
 * to the database: the process of egress/rows.c reads policies and writes what
 * is counted, and the two exchange messages (common/channel.h).  Every byte
 * that a sandbox or a server on the Internet sends is parsed here.
 */
#ifndef SANDLEASE_EGRESS_SERVE_SERVE_H
#define SANDLEASE_EGRESS_SERVE_SERVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/address.h"
#include "common/conf.h"
#include "common/id.h"
#include "common/json.h"
#include "domain/network.h"
#include "egress/base/loop.h"
#include "egress/base/resolver.h"
#include "egress/base/standin.h"
#include "egress/serve/side.h"

enum {
	SERVE_TENANT_MAX = 160,
	SERVE_POLICIES_MAX = 4,
	SERVE_READ_MAX = 256 * 1024,  /* bytes of one read */
	SERVE_FEW_CONNS = 64,         /* see serve_is_crowded() */
	SERVE_TURN_BYTES = 32 * 1024, /* bytes of one read in a short turn */
	SERVE_PEEK_MAX = 16 * 1024,   /* bytes that are looked at first */
	SERVE_FIRST_MS = 30 * 1000,   /* for the client's first bytes */
	SERVE_HALF_MS = 600 * 1000,   /* for one end, after the other's */
	SERVE_TEXT_MAX = NETWORK_HOST_MAX + 128
};

struct egress;
struct session;
struct conn;
struct http;

/* How the bytes of a connection are handled. */
struct protocol {
	/* Does what can be done now; may end the connection.  -1: broken. */
	int (*step)(struct conn *c);
	/* Whether bytes of each side can be used now. */
	bool (*wants_client)(struct conn *c);
	bool (*wants_server)(struct conn *c);
	/* Writes an error to the client.  False: it cannot be told any more. */
	bool (*refuse)(struct conn *c, int status, const char *text);
	void (*release)(struct conn *c); /* may be NULL, as refuse() may */
};
extern const struct protocol LOOK;  /* look.c: its first bytes */
extern const struct protocol HELLO; /* hello.c: the handshake of TLS */
extern const struct protocol RELAY; /* relay.c: bytes as they are */

/* Counted since the last message to rows. */
struct use {
	int64_t connections, requests, bytes_in, bytes_out, denied;
};

enum listener_kind {
	LISTENER_DNS,        /* datagrams of the resolver */
	LISTENER_DNS_STREAM, /* connections to it */
	LISTENER_PROXY,
	LISTENER_PORT,     /* connections to any address, of one port */
	LISTENER_REDIRECT, /* connections that the packet filter brings */
	LISTENER_LOG       /* not one: packets that it has refused */
};

/* A socket in a sandbox. */
struct listener {
	struct loop_watch watch; /* first: cast in its callback */
	TAILQ_ENTRY(listener) link;
	struct session *of;
	int fd; /* owned */
	enum listener_kind kind;
	bool v6;
	uint16_t port;
};

/* A request to init for sockets; that for the first ones stays open. */
struct request_link {
	struct loop_watch watch; /* first: cast in its callback */
	TAILQ_ENTRY(request_link) link;
	struct session *of;
	int fd;     /* owned */
	int waiter; /* owned: a worker that waits for the answer; -1: none */
	bool base;  /* ends with the cell */
	bool done;  /* all sockets have arrived */
};

/* A header that is added to requests for a host. */
struct secret {
	char *host, *header, *value; /* owned */
	bool plain;                  /* also without TLS */
};

TAILQ_HEAD(conn_list, conn);
TAILQ_HEAD(listener_list, listener);
TAILQ_HEAD(link_list, request_link);
TAILQ_HEAD(session_list, session);
TAILQ_HEAD(lookup_list, lookup);

/* The network of one session, of one generation. */
struct session {
	TAILQ_ENTRY(session) link;
	struct egress *of;
	char id[ID_MAX];
	char tenant[SERVE_TENANT_MAX];
	int64_t generation;
	/* a connection must be allowed by each of them */
	struct network_policy policies[SERVE_POLICIES_MAX];
	size_t policy_count;
	bool limited;    /* has maxRequests: rows counts each request first */
	size_t counting; /* requests that rows is counting */
	struct secret *secrets; /* owned */
	size_t secret_count;
	struct standins standins;
	struct listener_list listeners;
	struct link_list links;
	struct conn_list conns;
	size_t conn_count;
	struct lookup_list lookups; /* questions to the resolver */
	size_t lookup_count;
	struct use use;
	/* denials that may still be told; refilled with time */
	int64_t tell_left, tell_at_ms;
	int64_t untold;
	char last_name[NETWORK_HOST_MAX]; /* that was denied, and when */
	int64_t last_name_ms;
	/* bytes that may still be passed on; refilled with time */
	int64_t budget, budget_at_ms;
	struct loop_timer budget_timer;
	void (*refilled)(struct session *s);
};

enum { LINE_LAST = 32 };

/* How far a client's first line was read. */
struct line {
	enum {
		LINE_BEFORE,
		LINE_WORD,
		LINE_GAP, /* between word and target */
		LINE_TARGET,
		LINE_AFTER, /* the blanks after it */
		LINE_REST
	} part;
	bool is_method; /* the word may be one */
	bool is_token;  /* the word has only characters of one */
	bool is_path;   /* the target is one, or has a scheme */
	size_t matched; /* letters of a version of HTTP */
	size_t scheme;  /* the same of "://" */
	size_t bytes;   /* before the word, then from the word on */
	/* the last bytes from the word on; blanks in a row are one */
	unsigned char last[LINE_LAST];
	size_t kept; /* the next one's place is kept % LINE_LAST */
};

enum speaks {
	SPEAKS_UNKNOWN, /* the first bytes have not arrived */
	SPEAKS_RAW,
	SPEAKS_TLS,
	SPEAKS_HTTP
};

enum upstream_state {
	UPSTREAM_NONE,
	UPSTREAM_RESOLVING,
	UPSTREAM_CONNECTING,
	UPSTREAM_ASKING, /* the site's proxy is asked for a tunnel */
	UPSTREAM_OPEN
};

enum upstream_result {
	UPSTREAM_READY,
	UPSTREAM_REFUSED, /* its address; the text is that */
	UPSTREAM_FAILED   /* the text says why */
};

/* One connection of a sandbox, and ours to the server it means. */
struct conn {
	TAILQ_ENTRY(conn) link;
	struct session *of; /* NULL: closed, and freed after this round */
	int64_t id;         /* names it in messages to rows */
	struct side client, server;
	struct loop_timer timer; /* gives up then */
	/* unless the client still reads: looks again after this time */
	int64_t reader_ms, reader_until_ms;
	enum speaks speaks;
	const struct protocol *protocol; /* follows from `speaks` */
	/* called when the server can be reached, or cannot */
	void (
	    *reached)(struct conn *c, enum upstream_result r, const char *text);
	enum upstream_state upstream;
	bool counted;   /* a request is paid for and not made yet */
	bool waiting;   /* for rows to count a request */
	bool unasked;   /* ... and rows does not know of it yet */
	bool unchecked; /* the client may have told the server another name */
	bool leaving;   /* has its last answer; what it sends is dropped */
	bool cut;       /* ... which is not whole: it ends with a reset */
	bool retries;   /* the server wants another ClientHello */
	bool hasty;     /* the rest of a request is not waited for */
	bool unsure;    /* `line` is still read, while its bytes pass */
	struct line line;
	bool held;        /* the client's next record waits for the server's */
	size_t passing;   /* bytes of records that may be passed on */
	struct buf begun; /* of the client's next record, read and not passed */
	struct buf heard; /* the same of the server's */
	char host[NETWORK_HOST_MAX]; /* the target; "": not known yet */
	uint16_t port;
	struct resolver_query *query;
	struct resolved found;
	size_t next_address;
	struct http *http; /* owned; NULL: no HTTP */
};

struct egress {
	struct loop loop;
	const struct conf *conf;
	struct resolver *resolver;
	struct address_list exceptions;
	struct authority *authority;     /* owned; NULL: not told yet */
	SSL_CTX *client_tls;             /* owned: for TLS to servers */
	char via_host[NETWORK_HOST_MAX]; /* the site's proxy; "": none */
	uint16_t via_port;
	struct loop_watch rows_watch;
	int rows_fd;
	struct session_list sessions;
	size_t conn_count, conn_max;
	int64_t next_id;
	struct loop_timer report_timer, pause_timer;
	char read_buffer[SERVE_READ_MAX]; /* of the connection that reads now */
	int pipe[2]; /* the same for bytes that are moved without a copy */
};

/* With many connections each must save memory, and take short turns. */
static inline bool
serve_is_crowded(const struct egress *g)
{
	return g->conn_count > SERVE_FEW_CONNS;
}

/* ---- tell.c */

/* Sends a message to rows; frees it.  False: rows does not take it now. */
bool tell(struct egress *g, json_t *msg);
/* Whether rows takes a message now. */
bool tell_can(const struct egress *g);

/* ---- listener.c */

/* `about` is what init says of the socket, which is owned from now on. */
void listener_open(struct session *s, const json_t *about, int fd,
    void (*ready)(struct loop_watch *w, uint32_t events));
/* Whether the session has it. */
bool listener_is_open(const struct session *s, const json_t *about);
void listener_close(struct listener *l);
/* Stops accepting for a moment: descriptors have run out. */
void listener_pause(struct listener *l);

/* ---- budget.c */

/* `refilled` is called when a session that had to wait may go on. */
void budget_open(struct session *s, void (*refilled)(struct session *s));
/* False: the session must wait. */
bool budget_left(struct session *s);
void budget_take(struct session *s, size_t bytes);

/* ---- line.c */

enum line_kind {
	LINE_MORE, /* not known yet */
	LINE_HTTP, /* a server might take it for HTTP */
	LINE_OTHER
};
/* Reads the next bytes of a client's first line. */
enum line_kind line_read(struct line *l, const char *data, size_t len);

/* ---- deny.c */

enum denial {
	DENY_NOT_ALLOWED,
	DENY_CLASS,
	DENY_UNKNOWN_ADDRESS,
	DENY_PRIVATE_ADDRESS,
	DENY_SERVER_NAME,
	DENY_HOST_HEADER,
	DENY_PROTOCOL,
	DENY_TOO_MANY,
	DENY_TOO_MANY_NAMES,
	DENY_EXCEEDED,
	DENY_NOT_COUNTED,
	DENY_POLICY_CHANGED,
	DENY_BAD_REQUEST,
	DENY_TOO_LARGE,
	DENY_PROXY_REQUEST,
	DENY_TRACE,
	DENY_BAD_NAME,
	DENY_PACKET,
	DENY_URGENT,
	DENY_PORT_TAKEN,
	DENIAL__MAX
};

/*
 * Counts a denial and tells rows of it, unless there are too many.  `detail`
 * may be NULL.
 */
void deny(struct session *s, enum denial why, const char *host, uint16_t port,
    const char *detail);
/* The text for people; `host` may be "". */
void denial_text(enum denial why, const char *host, char out[SERVE_TEXT_MAX]);

/* The status of an HTTP response with that text. */
int denial_status(enum denial why);

/* The text when an allowed host cannot be reached, which is no denial. */
void failure_text(const char *host, const char *why, char out[SERVE_TEXT_MAX]);
const char *failure_to_resolve(enum resolve_status status);

/* ---- policy.c */

/* Reads policies and secrets; without a body nothing is allowed. */
void policy_read(struct session *s, const json_t *body);
void policy_forget(struct session *s);
bool policy_allows(const struct session *s, const char *host, uint16_t port);
bool policy_allows_host(const struct session *s, const char *host);
/* Whether names are restricted: not all of its policies are open. */
bool policy_is_strict(const struct session *s);
/* Whether headers are added to requests for the host. */
bool policy_has_secret(const struct session *s, const char *host);
/*
 * Whether clients must name the host that they connect to: a list of names is
 * enforced, or a secret is for this host only.
 */
bool policy_checks_name(const struct session *s, const char *host);
/* Which of the policies refuses a host: its own, or the class's; port 0: any. */
enum denial policy_denial(const struct session *s, const char *host,
    uint16_t port);

/* ---- names.c */

void names_datagram(struct listener *l);
void names_stream(struct listener *l);
/* Forgets the questions of a session that ends. */
void names_end(struct session *s);

/* ---- via.c */

/* Reads the setting egress_proxy. */
int via_parse(struct egress *g, struct err *e) MUST_CHECK;
/* Asks the proxy for a tunnel to c->host.  -1: broken. */
int via_ask(struct conn *c);
/* 1: the tunnel is open; 0: no answer yet; -1: refused. */
int via_answer(struct conn *c);

/* ---- upstream.c */

/* Connects to c->host and c->port; c->reached() follows. */
void upstream_connect(struct conn *c);
/* The timer of a connection fires.  False: it was not for us. */
bool upstream_timed_out(struct conn *c);
/* Cancels what is under way, closes what is open. */
void upstream_close(struct conn *c, bool reset);

/* ---- end.c */

void conn_close(struct conn *c, bool reset);
/* Has written its last bytes to the client: waits until they are read. */
void conn_leave(struct conn *c);
/*
 * Ends in the middle of an answer: the client gets the bytes that have arrived,
 * and then a reset, which says that there should be more.
 */
void conn_cut(struct conn *c);
/* Ends the connection with a reason that the client can read, if it can. */
void conn_deny(struct conn *c, enum denial why, const char *detail);
/* The same when the server cannot be reached, which is no denial. */
void conn_fail(struct conn *c, const char *why);
void conn_give_up_after(struct conn *c, int64_t ms);
/* The same, but not while the client still reads what it was sent. */
void conn_wait_for_reader(struct conn *c, int64_t ms);
/* The timer has fired: waits on for a reader, or closes. */
void conn_give_up(struct conn *c);
void protocol_end(struct conn *c);
/*
 * Counts a request.  True: go on.  False: denied, or rows is asked and the next
 * step comes with its answer.
 */
bool conn_count(struct conn *c);
/* The answer of rows; false: the connection was denied. */
bool conn_counted(struct conn *c, const char *outcome);
/* Rows has counted a request of the session: asks for the next one. */
void conn_count_next(struct session *s);

/* ---- terminate.c */

/* From now on the client's bytes are those in its TLS. */
bool terminate_client(struct conn *c);
/* The same for the server, which must prove that it is c->host. */
bool terminate_server(struct conn *c);
/* The reason why the server's handshake failed. */
void terminate_why(const struct conn *c, char *out, size_t size);
SSL_CTX *terminate_context(const struct conf *conf, struct err *e);

/* ---- relay.c */

/* Connects to the server, if nobody has yet; whether that is done. */
bool relay_open(struct conn *c);
/* Passes bytes of the server alone, as long as the client's are looked at. */
int relay_down(struct conn *c);

/* ---- hello.c */

enum hello { HELLO_MORE, HELLO_RIGHT, HELLO_WRONG };
/*
 * Whether a ClientHello is for c->host, if that matters.  `name` gets the
 * server's, and c->passing the bytes that may be passed on.
 */
enum hello hello_check(struct conn *c, const char *data, size_t len,
    char name[NETWORK_HOST_MAX]);
/* Writes what a TLS client prints as "access denied"; false: it has no TLS. */
bool hello_alert(struct conn *c);

/* ---- look.c */

/* Whether nothing is done before the client's first bytes are there. */
bool look_first(const struct conn *c);
/*
 * The timer of a connection fires.  True: the client has sent a word of HTTP and
 * nothing more; it may wait for an answer, and its bytes pass from now on.
 */
bool look_waits(struct conn *c);

/* ---- http.c */

/* The target is the address of the connection, or in a request to a proxy. */
enum http_kind { HTTP_DIRECT, HTTP_PROXY, HTTP_IN_TLS };
void http_open(struct conn *c, enum http_kind kind);

/* ---- conn.c */

void conn_accept(struct listener *l);
struct conn *conn_find(struct session *s, int64_t id);
/* Goes on with what can be done now; may close the connection. */
void conn_step(struct conn *c);

/* ---- session.c */

/*
 * Makes a session's network what the message and its body say.  `link_fd` and
 * `waiter` (may be -1) are owned from now on.
 */
void session_follow(struct egress *g, const json_t *msg, const json_t *body,
    int link_fd, int waiter);
struct session *session_find(struct egress *g, const char *id);
void session_end(struct session *s);
/* The counts since the last call; NULL: all are 0. */
json_t *session_report(struct session *s);

/* ---- serve.c */

/* Whether the process could start with these settings. */
int serve_check(const struct conf *conf, struct err *e) MUST_CHECK;

/* The process: returns when rows is gone. */
int serve_run(const struct conf *conf, int rows_fd);

#endif
