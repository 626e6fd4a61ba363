/*
 * storage_id.c: checks that the storage is there and is this host's, and lists
 * the sandboxes in it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/id.h"
#include "common/mem.h"
#include "provider/box/box.h"
#include "provider/host/file.h"
#include "provider/store/storage.h"

static const char NAME[] = ".id";
static const char ID_CHARS[] =
    "abcdefghijklmnopqrstuvwxyz0123456789-"; /* an operator may use a UUID */

/* `id` is "" if the storage has none; *found is false without a storage. */
static int
read_id(const struct provider *p, char id[STORAGE_ID_MAX], bool *found,
    struct err *e)
{
	auto_free char *path = xasprintf("%s/storage", p->conf->state_dir);
	auto_fd int dir = file_opendir(AT_FDCWD, path, found, e);
	auto_buf struct buf text = { 0 };
	bool marked;

	id[0] = '\0';
	if (dir < 0)
		return *found ? -1 : 0;
	if (file_read(dir, NAME, STORAGE_ID_MAX, &marked, &text, e) < 0)
		return -1;
	if (!marked)
		return 0;
	if (text.len > 0)
		text.data[strcspn(text.data, "\n")] = '\0';
	if (text.len == 0 ||
	    !str_made_of(text.data, ID_CHARS, 1, STORAGE_ID_MAX - 1))
		return err_set(e, ERR_UNAVAILABLE, CODE_STORAGE_MISMATCH,
		    "%s/%s is not an id", path, NAME);
	str_copy(id, STORAGE_ID_MAX, text.data);
	return 0;
}

int
storage_id(const struct provider *p, char id[STORAGE_ID_MAX], bool *empty,
    struct err *e)
{
	auto_names char **boxes = NULL;
	bool found;

	*empty = true;
	if (read_id(p, id, &found, e) < 0 || storage_boxes(p, &boxes, e) < 0)
		return -1;
	for (char **n = boxes; *n != NULL; n++)
		if (box_is_name(*n))
			*empty = false;
	return 0;
}

int
storage_boxes(const struct provider *p, char ***out, struct err *e)
{
	auto_free char *path = xasprintf("%s/storage", p->conf->state_dir);

	return file_names(AT_FDCWD, path, out, e);
}

/*
 * Writes a temporary file and links it to its name: another worker never reads
 * half of the id, and the first id stays.
 */
int
storage_mark(const struct provider *p, const char *id, struct err *e)
{
	auto_free char *path = xasprintf("%s/storage", p->conf->state_dir);
	auto_fd int dir = file_dir(AT_FDCWD, path, 0700, e);
	auto_free char *line = xasprintf("%s\n", id), *temp = NULL;
	char unique[ID_REQUEST_LEN + 1];
	int rc = 0;

	if (dir < 0)
		return -1;
	id_random(unique, ID_REQUEST_LEN);
	temp = xasprintf("%s.%s", NAME, unique);
	if (file_write(dir, temp, line, e) < 0)
		return -1;
	if (linkat(dir, temp, dir, NAME, 0) < 0 && errno != EEXIST)
		rc = err_errno(e, "%s/%s", path, NAME);
	unlinkat(dir, temp, 0);
	if (rc == 0 && fsync(dir) < 0)
		rc = err_errno(e, "%s", path);
	return rc;
}

int
storage_check(const struct provider *p, struct err *e)
{
	char id[STORAGE_ID_MAX];
	bool found;

	if (read_id(p, id, &found, e) < 0)
		return -1;
	if (!found)
		return err_set(e, ERR_UNAVAILABLE, CODE_NO_STORAGE,
		    "%s/storage is not there", p->conf->state_dir);
	if (p->storage_id[0] == '\0' || str_equal(id, p->storage_id))
		return 0;
	return err_set(e, ERR_UNAVAILABLE, CODE_STORAGE_MISMATCH,
	    "%s/storage is not the storage of this host: is its disk mounted?",
	    p->conf->state_dir);
}
