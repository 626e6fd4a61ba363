/* draft.c: a file is written beside its place. */
#include "agent/draft.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"

enum { NEW_MODE = 0644 };

static int
open_beside(struct draft *d, struct err *e)
{
	const char *slash = strrchr(d->path, '/');
	char id[ID_REQUEST_LEN + 1];

	id_random(id, ID_REQUEST_LEN);
	snprintf(d->temp, sizeof(d->temp), "%.*s/.sl-%s",
	    (int)(slash - d->path), d->path, id);
	d->fd = open(d->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (d->fd >= 0)
		return 0;
	d->temp[0] = '\0';
	return files_fail(e, d->path);
}

/* Nobody waits for the other end of a fifo here. */
static int
open_in_place(struct draft *d, struct err *e)
{
	d->fd = open(d->path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return d->fd < 0 ? files_fail(e, d->path) : 0;
}

int
draft_open(struct draft *d, const char *path, int mode, struct err *e)
{
	struct stat st = { .st_mode = S_IFREG | NEW_MODE };

	if (!str_copy(d->path, sizeof(d->path), path))
		return err_field(e, "path", "is too long");
	if (files_follow(d->path, e) < 0)
		return -1;
	if (d->path[strlen(d->path) - 1] == '/') {
		errno = EISDIR;
		return files_fail(e, path);
	}
	if (files_make_parents(d->path, e) < 0)
		return -1;
	d->replaces = stat(d->path, &st) == 0;
	if (!d->replaces && errno != ENOENT)
		return files_fail(e, path);
	if (S_ISDIR(st.st_mode)) {
		errno = EISDIR;
		return files_fail(e, path);
	}
	d->mode = (mode >= 0 ? (mode_t)mode : st.st_mode) & 07777;
	return S_ISREG(st.st_mode) ? open_beside(d, e) : open_in_place(d, e);
}

int
draft_write(struct draft *d, const char *data, size_t len, struct err *e)
{
	while (len > 0) {
		ssize_t n = write(d->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return files_fail(e, d->path);
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

int
draft_commit(struct draft *d, bool only_new, struct err *e)
{
	if (d->temp[0] == '\0')
		return 0;
	if (fchmod(d->fd, d->mode) < 0 ||
	    renameat2(AT_FDCWD, d->temp, AT_FDCWD, d->path,
		only_new ? RENAME_NOREPLACE : 0) < 0)
		return files_fail(e, d->path);
	d->temp[0] = '\0';
	return 0;
}

void
draft_drop(struct draft *d)
{
	if (d->temp[0] != '\0')
		unlink(d->temp);
	mem_close_fd(&d->fd);
}
