/* backup_error.c: finds the error for a backup that failed. */
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "agent/archive/backup_internal.h"
#include "agent/archive/pack.h"
#include "agent/files/files.h"
#include "common/json.h"
#include "common/mem.h"

int
backup_blame_ours(const struct buf *said, const char *path, struct err *e)
{
	auto_json json_t *report = NULL;
	struct err ignored;

	if (said->len > 0 &&
	    json_parse(said->data, said->len, &report, &ignored) == 0 &&
	    pack_blames_disk(report, path, e))
		return -1;
	return err_set(e, ERR_INTERNAL, CODE_NONE, "%.100s: %.140s", path,
	    report != NULL ? json_str(report, "message")
			   : "the helper ended without a report");
}

/* The errno that caused the failure, by the text or by SIGXFSZ; 0: unknown. */
static int
errno_of(const char *text, int status)
{
	static const int NUMBERS[] = { ENOSPC, EDQUOT, EFBIG };

	if (status == 128 + SIGXFSZ)
		return EFBIG;
	for (size_t i = 0; i < ARRAY_LEN(NUMBERS); i++)
		if (strstr(text, strerror(NUMBERS[i])) != NULL)
			return NUMBERS[i];
	return 0;
}

int
backup_blame_theirs(const struct buf *said, int status, const char *path,
    struct err *e)
{
	const char *text = said->len > 0 ? said->data : "";

	errno = errno_of(text, status);
	if (errno != 0)
		return files_fail(e, path);
	return err_set(e, ERR_INTERNAL, CODE_NONE, "%.80s: status %d: %.*s",
	    path, status, (int)strcspn(text, "\n"), text);
}

int
backup_failed(enum err_code code, struct err *e)
{
	if (CODE_IS_ONE_OF(e->code, CODE_NO_SPACE, CODE_FILE_TOO_LARGE,
		CODE_OPERATION_INTERRUPTED, CODE_CALL_LEFT,
		CODE_BACKUP_NOT_FOUND, CODE_INVALID_BACKUP_CONFIG))
		return -1;
	e->kind = ERR_INTERNAL;
	e->code = code;
	return -1;
}
