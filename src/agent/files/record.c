/* record.c: keeps small files of the wrapper among the tenant's. */
#include "agent/files/record.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

void
record_path(const char *dir, const char *id, const char *suffix,
    char out[RECORD_PATH_MAX])
{
	snprintf(out, RECORD_PATH_MAX, "%s/%s%s", dir, id, suffix);
}

void
record_dir(const char *dir)
{
	char path[RECORD_PATH_MAX];

	if (!str_copy(path, sizeof(path), dir) || mkdir(path, 0700) == 0 ||
	    errno != ENOENT)
		return;
	for (char *at = strchr(path + 1, '/'); at != NULL;
	     at = strchr(at + 1, '/')) {
		*at = '\0';
		(void)mkdir(path, 0700);
		*at = '/';
	}
	(void)mkdir(path, 0700);
}

void
record_write(const char *dir, const char *id, const json_t *body)
{
	auto_free char *text = json_text(body);
	char path[RECORD_PATH_MAX], final[RECORD_PATH_MAX];
	auto_fd int fd = -1;

	record_dir(dir);
	record_path(dir, id, RECORD_NEW_SUFFIX, path);
	record_path(dir, id, RECORD_SUFFIX, final);
	(void)unlink(path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	    0600);
	if (fd < 0 || write(fd, text, strlen(text)) != (ssize_t)strlen(text) ||
	    rename(path, final) < 0)
		(void)unlink(path);
}

json_t *
record_read(const char *dir, const char *id)
{
	auto_free char *text = xmalloc(RECORD_MAX);
	auto_json json_t *body = NULL;
	char path[RECORD_PATH_MAX];
	auto_fd int fd = -1;
	struct stat st;
	struct err e;
	ssize_t n;

	record_path(dir, id, RECORD_SUFFIX, path);
	fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (n = read(fd, text, RECORD_MAX)) <= 0 ||
	    json_parse(text, (size_t)n, &body, &e) < 0)
		return NULL;
	return TAKE(body);
}
