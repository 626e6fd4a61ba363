/* client.c: calls the HTTP API and waits for the answer. */
#include "cli/http/client.h"

#include <ctype.h>
#include <string.h>
#include <time.h>

#include "common/clock.h"
#include "common/mem.h"

enum { PATIENCE_MS = 10000, PAUSE_MS = 500 };

int
client_run(struct client *c, const struct request *r, struct buf *answer,
    struct err *e)
{
	struct transfer *t = transfer_begin(c, r);
	bool asks = r->method == NULL || str_equal(r->method, "GET");
	int rc;

	client_finish(c, t, asks);
	if (asks && client_stopped(c) != 0)
		rc = err_set(e, ERR_INVALID, CODE_INTERRUPTED, "interrupted");
	else
		rc = transfer_result(t, answer, e);
	transfer_free(t);
	return rc;
}

int
client_call(struct client *c, const char *method, const char *path,
    const json_t *body, json_t **out, struct err *e)
{
	const struct request r = { .method = method,
		.path = path,
		.json = body };
	const struct timespec pause = { .tv_nsec = PAUSE_MS * 1000000L };
	int64_t deadline = clock_ms() + PATIENCE_MS;
	auto_buf struct buf answer = { 0 };

	while (client_run(c, &r, &answer, e) < 0) {
		/* this code promises that the service did nothing: retry */
		if (!transfer_refused(e, CODE_CONTAINER_UNAVAILABLE) ||
		    client_tries(c) || clock_left_ms(deadline) == 0)
			return -1;
		nanosleep(&pause, NULL);
	}
	if (out == NULL)
		return 0;
	*out = answer.len > 0 ? json_loadb(answer.data, answer.len, 0, NULL)
			      : NULL;
	if (*out == NULL && answer.len > 0)
		return err_set(e, ERR_BAD_GATEWAY, CODE_BROKEN,
		    "%.100s answers something that is not JSON: is it a Sandlease service?",
		    client_url(c));
	return 0;
}

int
client_fetch(struct client *c, const char *url, struct buf *out, long *status,
    struct err *e)
{
	struct transfer *t = transfer_begin(c, &(struct request){ .url = url });
	int rc;

	client_finish(c, t, true);
	*status = transfer_status(t);
	rc = transfer_result(t, out, e);
	transfer_free(t);
	if (rc < 0 && *status >= 400)
		rc = 0; /* the caller wants an error page, too */
	if (out->data == NULL)
		buf_str(out, "");
	return rc;
}

void
client_escape(struct buf *to, const char *text, bool path)
{
	for (; *text != '\0'; text++)
		if (isalnum((unsigned char)*text) ||
		    strchr(path ? "-._~/" : "-._~", *text) != NULL)
			buf_add(to, text, 1);
		else
			buf_fmt(to, "%%%02X", (unsigned char)*text);
}
