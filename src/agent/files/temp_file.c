/* temp_file.c: writes a file atomically. */
#include "agent/files/temp_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

/* Ends the temporary name, so that a watch tells replaced from new files. */
#define REPLACES "~"

enum { NEW_MODE = 0644, CHUNK = 65536 };

static int
open_beside(struct temp_file *d, struct err *e)
{
	files_beside(d->path, d->temp);
	if (d->replaces)
		str_copy(d->temp + strlen(d->temp), sizeof(REPLACES), REPLACES);
	d->fd = open(d->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (d->fd >= 0)
		return 0;
	d->temp[0] = '\0';
	return files_fail(e, d->path);
}

/* True for a device or fifo, or if the file's directory is not writable. */
static bool
must_write_directly(const struct temp_file *d, mode_t mode)
{
	char dir[FILES_PATH_MAX];

	if (!S_ISREG(mode))
		return true;
	str_copy(dir, sizeof(dir), d->path);
	strrchr(dir, '/')[1] = '\0';
	return d->replaces && access(dir, W_OK) < 0;
}

int
temp_file_open(struct temp_file *d, const char *path, int mode, struct err *e)
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
	if (!must_write_directly(d, st.st_mode))
		return open_beside(d, e);
	if (d->beside)
		return err_set(e, ERR_INTERNAL, CODE_NONE,
		    "%.150s cannot be replaced", d->path);
	/* O_NONBLOCK: a fifo without a reader must not block the thread */
	d->fd = open(d->path,
	    O_WRONLY | O_TRUNC | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	return d->fd < 0 ? files_fail(e, d->path) : 0;
}

int
temp_file_write(struct temp_file *d, const char *data, size_t len,
    struct err *e)
{
	return files_put(d->fd, data, len) < 0 ? files_fail(e, d->path) : 0;
}

int
temp_file_commit(struct temp_file *d, bool only_new, struct err *e)
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

bool
temp_file_replaces(const char *name)
{
	return files_is_beside(name) &&
	    str_equal(name + strlen(name) - strlen(REPLACES), REPLACES);
}

void
temp_file_drop(struct temp_file *d)
{
	if (d->temp[0] != '\0')
		unlink(d->temp);
	mem_close_fd(&d->fd);
}

/* Writes all bytes of the source. */
static int
write_all(struct temp_file *d, const struct temp_file_source *from,
    struct err *e)
{
	auto_free char *buf = NULL;

	if (from->fd < 0)
		return temp_file_write(d, from->data, from->len, e);
	buf = xmalloc(CHUNK);
	for (;;) {
		ssize_t n = read(from->fd, buf, CHUNK);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return files_fail(e, d->path);
		if (n == 0)
			return 0;
		if (temp_file_write(d, buf, (size_t)n, e) < 0)
			return -1;
	}
}

int
temp_file_write_file(const char *path, const struct temp_file_source *from,
    int mode, struct err *e)
{
	auto_temp_file struct temp_file d = TEMP_FILE_NONE;

	if (temp_file_open(&d, path, mode, e) < 0 || write_all(&d, from, e) < 0)
		return -1;
	return temp_file_commit(&d, false, e);
}
