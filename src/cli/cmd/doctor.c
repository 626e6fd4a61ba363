/* doctor.c: tries the service with a real session, and says what to change. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "cli/cmd/commands.h"
#include "cli/interrupts.h"
#include "cli/show.h"
#include "common/clock.h"
#include "common/mem.h"

enum { PORT = 8000, NETWORK_MS = 3000, PREVIEW_MS = 5000, SURVIVES_S = 3600 };

/* An HTTP server in Perl, which every Debian has. */
static const char SERVER[] =
    "perl -MIO::Socket::INET -e '"
    "$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", LocalPort => 8000,"
    " Listen => 5, ReuseAddr => 1) or die; while ($c = $s->accept) {"
    " while (<$c>) { last if /^\\r?$/ } print $c \"HTTP/1.0 200 OK\\r\\n\\r\\n"
    "hello from inside\\n\"; close $c }' </dev/null >/dev/null 2>&1 &";

struct patient {
	struct client *client;
	bool json;
	char path[64]; /* of the session; "": there is none yet */
	int64_t began_us;
	int signals; /* interrupts_open() */
	int stopped; /* the signal that ends it, or 0 */
};

static void
report(struct patient *p, const char *what)
{
	double ms = (double)(clock_us() - p->began_us) / 1000;

	if (p->json)
		printf("{\"step\":\"%s\",\"ms\":%.1f}\n", what, ms);
	else
		printf("ok   %-44s %7.1f ms\n", what, ms);
	p->began_us = clock_us();
}

/* Prints advice to the operator; it is no failure by itself. */
static void
warn(const struct patient *p, const char *about, const char *text)
{
	auto_json json_t *line = NULL;

	if (p->json) {
		line = json_pack("{s:s, s:s}", "warning", text, "about", about);
		show_json(line);
		return;
	}
	fputs("!    ", stdout);
	show_text(text, stdout);
	putchar('\n');
}

/* Called between two steps, so that ^C leaves no session behind. */
static bool
is_stopped(struct patient *p)
{
	if (p->stopped == 0)
		p->stopped = interrupts_end(p->signals);
	return p->stopped != 0;
}

static int
execute(struct patient *p, const char *command, json_t **out, struct err *e)
{
	auto_json json_t *body = json_pack("{s:s}", "command", command);
	auto_free char *path = xasprintf("%s/api/execute", p->path);

	return client_call(p->client, "POST", path, body, out, e);
}

/* The word for what holds a limit; "unknown" if the service sends no word. */
static const char *
holder_of(const json_t *limits, const char *name)
{
	const char *by = json_str(json_object_get(limits, name), "by");

	return str_made_of(by, "abcdefghijklmnopqrstuvwxyz", 1, 16) ? by
								    : "unknown";
}

static void
warn_limit(const struct patient *p, const char *title, const char *by)
{
	auto_free char *text = NULL;

	if (str_equal(by, "none"))
		text = xasprintf(
		    "%s: nothing holds the limit, one sandbox can take all of it from the others; delegate a cgroup to the service (docs/security.md: Limits without cgroups)",
		    title);
	else if (str_equal(by, "watchdog"))
		text = xasprintf(
		    "%s: only a watchdog holds the limit, a quick program can pass it for a moment; delegate a cgroup to the service (docs/security.md: Limits without cgroups)",
		    title);
	if (text != NULL)
		warn(p, title, text);
}

/* Prints what holds each limit, which differs from host to host. */
static void
report_limits(struct patient *p, const json_t *limits)
{
	static const struct {
		const char *title, *name;
	} LIMITS[] = {
		{ "cpu", "cpuMillis" },
		{ "memory", "memoryMb" },
		{ "processes", "pids" },
		{ "disk", "diskMb" },
	};
	auto_buf struct buf line = { 0 };

	buf_str(&line, "limits are held:");
	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++)
		buf_fmt(&line, "%s %s by %s", i > 0 ? "," : "", LIMITS[i].title,
		    holder_of(limits, LIMITS[i].name));
	report(p, line.data);
	for (size_t i = 0; i < ARRAY_LEN(LIMITS); i++)
		warn_limit(p, LIMITS[i].title,
		    holder_of(limits, LIMITS[i].name));
}

static int
check_create(struct patient *p, struct err *e)
{
	time_t end = time(NULL) + SURVIVES_S;
	auto_json json_t *body = NULL, *s = NULL;
	char expires[32];
	struct tm tm;

	/* the service deletes the session if this program is killed, or if the
	   answer is lost */
	strftime(expires, sizeof(expires), "%Y-%m-%dT%H:%M:%SZ",
	    gmtime_r(&end, &tm));
	body = json_pack("{s:s, s:{s:s}, s:s}", "isolation", "session",
	    "labels", "made-by", "doctor", "expiresAt", expires);
	if (client_call(p->client, "POST", "/v1/sessions", body, &s, e) < 0)
		return err_wrap(e, "create");
	snprintf(p->path, sizeof(p->path), "/v1/sessions/%s",
	    json_str(s, "id"));
	if (!str_equal(json_str(s, "state"), "ready"))
		return err_set(e, ERR_UNAVAILABLE, CODE_DOCTOR,
		    "create: the session is %s, not ready",
		    json_str(s, "state"));
	report(p, "a session in a sandbox of its own");
	report_limits(p, json_object_get(s, "limits"));
	return 0;
}

static int
check_execute(struct patient *p, struct err *e)
{
	auto_json json_t *r = NULL;

	if (execute(p, "echo $((6 * 7))", &r, e) < 0)
		return err_wrap(e, "execute");
	if (strncmp(json_str(r, "stdout"), "42", 2) != 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_DOCTOR,
		    "execute: 6 * 7 gave \"%.40s\"", json_str(r, "stdout"));
	report(p, "a command in it");
	return 0;
}

/*
 * Prints why a preview cannot be reached from this machine, and what to change.
 * The host of a preview is one label below the domain of preview_base.
 */
static void
advise_preview(const struct patient *p, const char *url, enum err_code code)
{
	const char *host = strstr(url, "://");
	auto_free char *name = NULL, *text = NULL;
	const char *domain;

	if (host == NULL)
		return;
	host += strlen("://");
	name = xasprintf("%.*s", (int)strcspn(host, ":/"), host);
	domain = strchr(name, '.');
	if (domain == NULL)
		return;
	if (code == CODE_UNRESOLVED)
		text = xasprintf(
		    "%s has no address: DNS lacks a record (A or AAAA) for *%s, which the setting preview_base names (docs/operations.md: DNS)",
		    name, domain);
	else if (code == CODE_UNREACHABLE)
		text = xasprintf(
		    "nothing takes connections for %.*s: nginx, a firewall, the DNS record of *%s or the port in the setting preview_base is not right",
		    (int)strcspn(host, "/"), host, domain);
	else if (code == CODE_UNTRUSTED)
		text = xasprintf(
		    "%.*s shows a certificate that does not fit: nginx needs one for *%s (PREVIEW_CERT of site.values; docs/operations.md: nginx and TLS)",
		    (int)strcspn(host, "/"), host, domain);
	if (text != NULL)
		warn(p, "preview", text);
}

/* Retries: the relay answers 502 until the server listens. */
static int
fetch_preview(struct patient *p, const char *url, struct err *e)
{
	int64_t deadline = clock_ms() + PREVIEW_MS;
	const struct timespec pause = { .tv_nsec = 20000000 };
	long status = 0;

	do {
		auto_buf struct buf page = { 0 };

		if (client_fetch(p->client, url, &page, &status, e) < 0) {
			advise_preview(p, url, e->code);
			return err_wrap(e, "preview");
		}
		if (status == 200 && str_starts(page.data, "hello from inside"))
			return 0;
		nanosleep(&pause, NULL);
	} while (clock_left_ms(deadline) > 0 && !is_stopped(p));
	return err_set(e, ERR_UNAVAILABLE, CODE_DOCTOR,
	    "preview: status %ld instead of the page", status);
}

static int
check_preview(struct patient *p, struct err *e)
{
	auto_json json_t *body = json_pack("{s:i}", "port", PORT);
	auto_json json_t *port = NULL;
	auto_free char *path = xasprintf("%s/ports", p->path);

	if (execute(p, SERVER, NULL, e) < 0)
		return err_wrap(e, "server");
	if (client_call(p->client, "POST", path, body, &port, e) < 0)
		return err_wrap(e, "expose");
	if (fetch_preview(p, json_str(port, "url"), e) < 0)
		return -1;
	report(p, "a server in it, through its preview URL");
	return 0;
}

/* Egress writes the ports a moment after it has begun to serve. */
static int
read_network(struct patient *p, json_t **out, struct err *e)
{
	int64_t deadline = clock_ms() + NETWORK_MS;
	const struct timespec pause = { .tv_nsec = 20000000 };
	auto_json json_t *s = NULL;
	const json_t *network;

	do {
		json_decref(TAKE(s));
		if (client_call(p->client, "GET", p->path, NULL, &s, e) < 0)
			return err_wrap(e, "network");
		network = json_object_get(s, "network");
		if (!json_is_null(json_object_get(network, "ports")))
			break;
		nanosleep(&pause, NULL);
	} while (clock_left_ms(deadline) > 0 && !is_stopped(p));
	*out = json_deep_copy(network);
	return 0;
}

/* Not every service gives its sandboxes a network, so nothing of it fails. */
static int
check_network(struct patient *p, struct err *e)
{
	auto_json json_t *body =
	    json_pack("{s:{s:[s]}}", "network", "allow", "example.com");
	auto_json json_t *network = NULL;
	struct err why = { 0 };
	const json_t *ports;

	if (client_call(p->client, "PATCH", p->path, body, NULL, &why) < 0) {
		if (why.kind != ERR_INVALID)
			warn(p, "network", why.msg);
		else
			report(p, "sandboxes of its class have no network");
		return 0;
	}
	if (read_network(p, &network, e) < 0)
		return -1;
	ports = json_object_get(network, "ports");
	if (json_is_null(ports))
		warn(p, "network",
		    "sandlease-egress does not run on the session's host: sessions with a network cannot start (docs/network.md: For operators)");
	else if (json_is_array(ports))
		warn(p, "network",
		    "there is no packet filter (egress_filter is none, or the kernel has no nf_tables): an open network has only the common ports (docs/network.md: For operators)");
	else
		report(p, "a network can be served");
	return 0;
}

static int
check_delete(struct patient *p, struct err *e)
{
	auto_json json_t *s = NULL;

	if (p->path[0] == '\0')
		return 0;
	if (client_call(p->client, "DELETE", p->path, NULL, &s, e) < 0)
		return err_wrap(e, "delete");
	if (!str_equal(json_str(s, "state"), "deleted"))
		return err_set(e, ERR_UNAVAILABLE, CODE_DOCTOR,
		    "delete: the session is %s, not deleted",
		    json_str(s, "state"));
	report(p, "deleted, and its absence observed");
	return 0;
}

/* Only a key of scope admin gets the member "disk". */
static int
check_service(struct patient *p, struct err *e)
{
	auto_json json_t *health = NULL;
	const json_t *disk;
	char room[80];

	if (client_call(p->client, "GET", "/v1/health", NULL, &health, e) < 0)
		return -1;
	report(p, "the service answers");
	disk = json_object_get(health, "disk");
	if (disk == NULL)
		return 0;
	snprintf(room, sizeof(room), "%lld MB and %lld inodes are free",
	    (long long)json_integer_value(json_object_get(disk, "freeMb")),
	    (long long)json_integer_value(json_object_get(disk, "freeInodes")));
	report(p, room);
	return 0;
}

int
cmd_doctor(struct cli *k, struct err *e)
{
	static int (*const STEPS[])(struct patient *, struct err *) = {
		check_service,
		check_create,
		check_execute,
		check_preview,
		check_network,
	};
	auto_fd int signals = interrupts_open(e);
	struct patient p = { .client = k->client,
		.json = k->json,
		.began_us = clock_us(),
		.signals = signals };
	struct err later = { 0 };
	int rc = signals < 0 ? -1 : 0;

	for (size_t i = 0; i < ARRAY_LEN(STEPS) && rc == 0 && !is_stopped(&p);
	     i++)
		rc = STEPS[i](&p, e);
	/* also after a failure: leave no session behind */
	if (check_delete(&p, rc == 0 ? e : &later) < 0)
		rc = -1;
	return is_stopped(&p) ? 128 + p.stopped : rc;
}
