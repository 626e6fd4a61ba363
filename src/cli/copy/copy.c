/* copy.c: makes the requests of a copy, for file.c and tar.c. */
#include "cli/copy/copy.h"

#include <stdlib.h>

#include "cli/interrupts.h"
#include "common/mem.h"

char *
copy_path(const struct copy *k, const char *route, const char *path,
    const char *query)
{
	struct buf url = { 0 };

	buf_fmt(&url, "/v1/sessions/%s/%s", k->id, route);
	client_escape(&url, path, true);
	buf_str(&url, query);
	return url.data;
}

static void
move_progress(void *ctx, int64_t done, int64_t total)
{
	struct copy *k = ctx;

	progress_move(&k->progress, done, total);
	k->bytes = done;
}

/* A 204, from another server than the service, would look like an empty file. */
static int
check_download(const struct transfer *t, struct err *e)
{
	long status = transfer_status(t);

	if (status == 200 || status == 206)
		return 0;
	return err_set(e, ERR_BAD_GATEWAY, CODE_REDIRECTED,
	    "the service answers %ld instead of a file", status);
}

int
copy_run(struct copy *k, struct request *r, unsigned *mode, struct err *e)
{
	struct pollfd fds[] = { { k->signals, POLLIN, 0 } };
	struct transfer *t;
	int rc;

	r->progress = move_progress;
	r->progress_ctx = k;
	r->endless = true;
	t = transfer_begin(k->client, r);
	while (!transfer_done(t) && k->stopped == 0) {
		client_wait(k->client, fds, k->signals >= 0 ? 1 : 0, -1);
		if (fds[0].revents != 0)
			k->stopped = interrupts_end(k->signals);
	}
	if (mode != NULL)
		*mode = (unsigned)strtoul(transfer_header(t, "X-File-Mode"),
		    NULL, 8);
	rc = k->stopped == 0
	    ? transfer_result(t, NULL, e)
	    : err_set(e, ERR_INVALID, CODE_INTERRUPTED, "interrupted");
	if (rc == 0 && r->sink != NULL)
		rc = check_download(t, e);
	transfer_free(t);
	return rc;
}

int
copy_look(struct copy *k, const char *path, enum copy_kind *out, struct err *e)
{
	auto_free char *url = copy_path(k, "files", path, "");
	struct request r = { .path = url, .header = "Range: bytes=0-0" };

	*out = COPY_FILE;
	if (client_run(k->client, &r, NULL, e) == 0 ||
	    transfer_refused(e, CODE_RANGE_NOT_SATISFIABLE))
		return 0;
	*out = COPY_NOTHING;
	if (transfer_refused(e, CODE_FILE_NOT_FOUND))
		return 0;
	*out = COPY_DIRECTORY;
	return transfer_refused(e, CODE_IS_DIRECTORY) ? 0 : -1;
}
