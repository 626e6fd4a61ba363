/* secret_list.c: remembers which of the session's files are secret. */
#include "agent/files/secret_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/base/lock.h"
#include "agent/files/files.h"
#include "agent/files/record.h"
#include "common/mem.h"

/* A tenant can make lists too: so many are looked at, and so much of each. */
enum { LISTS_MAX = 1000, LIST_BYTES_MAX = 512 * 1024 };

#define NEW ".new"

/* Else a file could be removed as the last list's and be another's already. */
static struct lock lists_lock = LOCK_INIT(LOCK_SECRETS);

static int
write_list(const char *id, const struct buf *paths, struct err *e)
{
	char path[RECORD_PATH_MAX], final[RECORD_PATH_MAX];
	auto_fd int fd = -1;

	record_dir(SECRET_LIST_DIR);
	record_path(SECRET_LIST_DIR, id, NEW, path);
	record_path(SECRET_LIST_DIR, id, "", final);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd < 0 || files_put(fd, paths->data, paths->len) < 0 ||
	    rename(path, final) < 0) {
		files_fail(e, final);
		(void)unlink(path);
		return -1;
	}
	return 0;
}

int
secret_list_write(const char *id, const struct buf *paths, struct err *e)
{
	int rc;

	lock_take(&lists_lock);
	rc = write_list(id, paths, e);
	lock_drop(&lists_lock);
	return rc;
}

static void
read_list(const char *path, struct buf *out)
{
	auto_fd int fd =
	    open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	size_t end = out->len;
	struct stat st;
	ssize_t n;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_size > LIST_BYTES_MAX)
		return;
	n = read(fd, buf_room(out, (size_t)st.st_size), (size_t)st.st_size);
	if (n > 0)
		out->len += (size_t)n;
	/* a tenant may have changed it: the last path must end, too */
	if (out->len > end && out->data[out->len - 1] != '\0')
		buf_add(out, "", 1);
}

/* Calls `use` with the path of each list. */
static void
for_each_list(void (*use)(const char *path, struct buf *out), struct buf *out)
{
	DIR *d = opendir(SECRET_LIST_DIR);
	const struct dirent *ent;
	char path[RECORD_PATH_MAX];
	int count = 0;

	if (d == NULL)
		return;
	while (count++ < LISTS_MAX && (ent = readdir(d)) != NULL) {
		if (ent->d_name[0] == '.' ||
		    strlen(ent->d_name) > RECORD_PATH_MAX / 4)
			continue;
		record_path(SECRET_LIST_DIR, ent->d_name, "", path);
		use(path, out);
	}
	closedir(d);
}

static bool
has_path(const struct buf *paths, const char *path)
{
	for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1)
		if (str_equal(paths->data + at, path))
			return true;
	return false;
}

bool
secret_list_has(const char *path)
{
	auto_buf struct buf all = { 0 };

	for_each_list(read_list, &all);
	return has_path(&all, path);
}

static void
remove_files(const struct buf *paths, const struct buf *kept)
{
	for (size_t at = 0; at < paths->len; at += strlen(paths->data + at) + 1)
		if (!has_path(kept, paths->data + at))
			(void)unlink(paths->data + at);
}

void
secret_list_remove(const char *id)
{
	auto_buf struct buf paths = { 0 }, others = { 0 };
	char path[RECORD_PATH_MAX];

	record_path(SECRET_LIST_DIR, id, "", path);
	lock_take(&lists_lock);
	read_list(path, &paths);
	(void)unlink(path);
	for_each_list(read_list, &others);
	remove_files(&paths, &others);
	lock_drop(&lists_lock);
}

static void
remove_one(const char *path, struct buf *out)
{
	const struct buf none = { 0 };

	out->len = 0;
	read_list(path, out);
	remove_files(out, &none);
	(void)unlink(path);
}

void
secret_list_remove_all(void)
{
	auto_buf struct buf paths = { 0 };

	for_each_list(remove_one, &paths);
}
