/* execution_artifact.c: reads what is kept of executions, and removes it. */
#include "control/execution_artifact.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/store/artifact.h"

enum { FORGET_BATCH = 5000, NUMBER_MAX = 24 };

static int
not_found(struct err *e)
{
	return err_set(e, ERR_NOT_FOUND, CODE_ARTIFACT_NOT_FOUND,
	    "the execution has left no such file");
}

/* Opens the file of a row of STMT_ARTIFACT_FIND. */
static int
open_row(struct control *ctl, const struct rows *r, struct err *e)
{
	const char *host = rows_text(r, 0, "host");

	if (!str_equal(host, ctl->conf->host_name))
		return control_other_host(host, e);
	return artifact_open(ctl->conf, rows_text(r, 0, "folder"),
	    rows_text(r, 0, "sha256"), e);
}

int
execution_artifact_open(struct control *ctl, const char *id, const char *path,
    struct execution_artifact *out, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_ARTIFACT_FIND, &r, e, id,
		path[0] == '\0' ? "log" : "file", path) < 0)
		return -1;
	if (rows_count(r) == 0 || rows_text(r, 0, "sha256")[0] == '\0')
		return not_found(e);
	out->bytes = rows_int(r, 0, "bytes");
	out->fd = open_row(ctl, r, e);
	return out->fd < 0 ? -1 : 0;
}

/* ---- output */

/*
 * Maps the file, which nobody changes: its name is the hash of its bytes.  *data
 * stays NULL if there is no row, or no bytes.
 */
static int
map_kind(struct control *ctl, const char *id, const char *kind, struct rows **r,
    const char **data, size_t *len, struct err *e)
{
	auto_fd int fd = -1;
	struct stat st;
	void *at;

	if (STORE_RUN(ctl->store, STMT_ARTIFACT_FIND, r, e, id, kind, "") < 0)
		return -1;
	if (rows_count(*r) == 0)
		return not_found(e);
	if (rows_text(*r, 0, "sha256")[0] == '\0' ||
	    rows_int(*r, 0, "bytes") == 0)
		return 0;
	fd = open_row(ctl, *r, e);
	if (fd < 0)
		return -1;
	if (fstat(fd, &st) < 0 || st.st_size != rows_int(*r, 0, "bytes"))
		return err_set(e, ERR_GONE, CODE_ARTIFACT_GONE,
		    "the file is not complete any more");
	at = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return err_errno(e, "mmap");
	*data = at;
	*len = (size_t)st.st_size;
	return 0;
}

static void
unmap(const char *data, size_t len)
{
	if (data != NULL)
		munmap((void *)(uintptr_t)data, len);
}

void
execution_output_free(struct execution_output *out)
{
	unmap(out->shown.log, out->shown.log_len);
	unmap(out->shown.times, out->shown.times_len);
	*out = (struct execution_output){ 0 };
}

int
execution_output_read(struct control *ctl, const char *id,
    struct execution_output *out, struct err *e)
{
	auto_rows struct rows *r = NULL, *ignored = NULL;
	struct output *o = &out->shown;

	*out = (struct execution_output){ 0 };
	if (map_kind(ctl, id, "log", &r, &o->log, &o->log_len, e) < 0 ||
	    map_kind(ctl, id, "times", &ignored, &o->times, &o->times_len, e) <
		0)
		return -1;
	o->first = rows_int(r, 0, "log_first");
	out->kept = o->log != NULL || rows_int(r, 0, "log_bytes") == 0;
	return 0;
}

/* ---- removing */

static int
is_known(void *ctx, const char *org, const char *hash, struct err *e)
{
	struct control *ctl = ctx;
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_ARTIFACT_KNOWN, &r, e, org, hash) < 0)
		return -1;
	return rows_bool(r, 0, "known");
}

int
execution_artifacts_sweep(struct control *ctl, int slot, int64_t *removed,
    struct err *e)
{
	char days[NUMBER_MAX], batch[NUMBER_MAX];

	*removed = 0;
	snprintf(days, sizeof(days), "%lld",
	    (long long)ctl->conf->artifact_days);
	snprintf(batch, sizeof(batch), "%d", FORGET_BATCH);
	if (STORE_RUN(ctl->store, STMT_ARTIFACTS_FORGET, NULL, e, days, batch) <
	    0)
		return -1;
	CRASH_POINT("artifacts.forgotten");
	return artifact_sweep(ctl->conf, slot, is_known, ctl, removed, e);
}
