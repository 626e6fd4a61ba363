/* file.c: reads and writes small files whole, and lists directories. */
#include "provider/host/file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/id.h"
#include "common/mem.h"

enum { CHUNK = 4096, SUFFIX_LEN = 8, NOTES_MAX_BYTES = 8192 };

int
file_read(int dir, const char *name, size_t max, bool *found, struct buf *out,
    struct err *e)
{
	auto_fd int fd = openat(dir, name,
	    O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	ssize_t n;

	*found = fd >= 0;
	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", name);
	do {
		size_t want = max < CHUNK ? max : CHUNK;

		n = read(fd, buf_room(out, want), want);
		if (n < 0 && errno == EINTR)
			continue;
		/* the file's cgroup was removed after the open */
		if (n < 0 && errno == ENODEV) {
			*found = false;
			return 0;
		}
		if (n < 0)
			return err_errno(e, "%s", name);
		out->len += (size_t)n;
		max -= (size_t)n;
	} while (n != 0 && max > 0);
	*buf_room(out, 0) = '\0';
	return 0;
}

static int
write_all(int fd, const char *text, struct err *e)
{
	size_t left = strlen(text);

	while (left > 0) {
		ssize_t n = write(fd, text, left);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "write");
		text += n;
		left -= (size_t)n;
	}
	return 0;
}

int
file_write(int dir, const char *name, const char *text, struct err *e)
{
	char suffix[SUFFIX_LEN + 1];
	auto_free char *temporary = NULL;
	auto_fd int fd = -1;

	id_random(suffix, SUFFIX_LEN);
	temporary = xasprintf(".%s.%s", name, suffix);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
	    0600);
	if (fd < 0)
		return err_errno(e, "%s", name);
	if (write_all(fd, text, e) < 0) {
		unlinkat(dir, temporary, 0);
		return err_wrap(e, "%s", name);
	}
	if (renameat(dir, temporary, dir, name) < 0) {
		err_errno(e, "rename to %s", name);
		unlinkat(dir, temporary, 0);
		return -1;
	}
	return 0;
}

int
file_note(int dir, const char *name, const char *text, struct err *e)
{
	/* the first newline ends a line that a crash has cut short */
	auto_free char *line = xasprintf("\n%s\n", text);
	auto_fd int fd = openat(dir, name,
	    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", name);
	if (st.st_size > NOTES_MAX_BYTES)
		return file_write(dir, name, line, e);
	if (write_all(fd, line, e) < 0)
		return err_wrap(e, "%s", name);
	return 0;
}

int
file_last_note(int dir, const char *name, size_t max, struct buf *out,
    struct err *e)
{
	auto_buf struct buf text = { 0 };
	const char *end, *begin;
	bool found;

	if (file_read(dir, name, max, &found, &text, e) < 0)
		return -1;
	if (!found || text.len == 0)
		return 0;
	/* memrchr(): after a power failure the text may contain NULs */
	end = memrchr(text.data, '\n', text.len);
	if (end == NULL) /* written by an older version, which did not append */
		end = text.data + text.len;
	while (end > text.data && end[-1] == '\n')
		end--;
	for (begin = end; begin > text.data && begin[-1] != '\n';)
		begin--;
	buf_add(out, begin, (size_t)(end - begin));
	return 0;
}

int
file_put(const char *path, const char *text, struct err *e)
{
	auto_fd int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

	/* one write(): the kernel takes each write as a whole value */
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		return err_errno(e, "%s", path);
	return 0;
}

int
file_opendir(int at, const char *name, bool *found, struct err *e)
{
	int fd =
	    openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	*found = fd >= 0 || errno != ENOENT;
	if (fd < 0)
		return err_errno(e, "%s", name);
	return fd;
}

int
file_dir(int at, const char *name, mode_t mode, struct err *e)
{
	bool found;

	if (mkdirat(at, name, mode) < 0 && errno != EEXIST)
		return err_errno(e, "mkdir %s", name);
	return file_opendir(at, name, &found, e);
}

static int
read_names(DIR *d, char ***out, struct err *e)
{
	auto_names char **names = xcalloc(1, sizeof(*names));
	size_t count = 0;

	for (;;) {
		const struct dirent *entry;

		errno = 0;
		entry = readdir(d);
		if (entry == NULL)
			break;
		if (str_equal(entry->d_name, ".") ||
		    str_equal(entry->d_name, ".."))
			continue;
		names = xrealloc(names, (count + 2) * sizeof(*names));
		names[count++] = xstrdup(entry->d_name);
		names[count] = NULL;
	}
	if (errno != 0)
		return err_errno(e, "readdir");
	*out = TAKE(names);
	return 0;
}

int
file_names(int at, const char *name, char ***out, struct err *e)
{
	bool found;
	int fd = file_opendir(at, name, &found, e);
	DIR *d;
	int rc;

	*out = NULL;
	if (fd < 0 && !found) {
		*out = xcalloc(1, sizeof(**out));
		return 0;
	}
	if (fd < 0)
		return -1;
	d = fdopendir(fd);
	if (d == NULL) {
		close(fd);
		return err_errno(e, "%s", name);
	}
	rc = read_names(d, out, e);
	closedir(d);
	return rc;
}

void
file_names_free(char ***names)
{
	if (*names == NULL)
		return;
	for (char **n = *names; *n != NULL; n++)
		free(*n);
	free(*names);
	*names = NULL;
}
