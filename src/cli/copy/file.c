/* file.c: copies a file to or from a session. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/copy/copy.h"
#include "cli/output.h"
#include "common/mem.h"

/* ---- up */

static ssize_t
read_fd(void *ctx, char *to, size_t max)
{
	ssize_t n;

	do
		n = read(*(int *)ctx, to, max);
	while (n < 0 && errno == EINTR);
	return n;
}

int
copy_file_up(struct copy *k, const char *from, const char *to, struct err *e)
{
	auto_fd int opened =
	    from != NULL ? open(from, O_RDONLY | O_CLOEXEC) : -1;
	int fd = from != NULL ? opened : STDIN_FILENO;
	auto_free char *path = NULL;
	char mode[16] = "";
	struct request r = { .method = "PUT",
		.read = read_fd,
		.read_size = -1,
		.ctx = &fd };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%.150s", from != NULL ? from : "stdin");
	if (from != NULL)
		snprintf(mode, sizeof(mode), "?mode=0%03o",
		    (unsigned)st.st_mode & 0777);
	if (S_ISREG(st.st_mode))
		r.read_size = st.st_size - lseek(fd, 0, SEEK_CUR);
	path = copy_path(k, "files", to, mode);
	r.path = path;
	return copy_run(k, &r, NULL, e);
}

/* ---- down */

static bool
write_fd(void *ctx, const char *data, size_t len)
{
	return output_bytes(*(int *)ctx, data, len);
}

/* Fetches the file `from` into a descriptor. */
static int
fetch_into(struct copy *k, const char *from, int fd, unsigned *mode,
    struct err *e)
{
	auto_free char *path = copy_path(k, "files", from, "");
	struct request r = { .path = path, .sink = write_fd, .ctx = &fd };

	errno = 0;
	if (copy_run(k, &r, mode, e) == 0)
		return 0;
	/* write_fd() failed: the error is on this machine */
	if (e->code == CODE_BROKEN && errno != 0 && errno != EAGAIN)
		return err_errno(e, "writing");
	return -1;
}

/* "dir/.name.XXXXXX" beside "dir/name". */
static char *
temp_name(const char *to)
{
	const char *slash = strrchr(to, '/');
	int dir = slash != NULL ? (int)(slash - to) + 1 : 0;

	return xasprintf("%.*s.%s.XXXXXX", dir, to, to + dir);
}

static int
rename_into_place(int fd, const char *temp, const char *to, unsigned mode,
    struct err *e)
{
	mode_t mask = umask(0);

	umask(mask);
	if (fchmod(fd, (mode != 0 ? mode : 0666) & 0777 & ~mask) < 0 ||
	    fsync(fd) < 0 || rename(temp, to) < 0)
		return err_errno(e, "%.150s", to);
	return 0;
}

/* A device or a fifo is written to; a rename would replace it by a file. */
static int
fetch_into_device(struct copy *k, const char *from, const char *to,
    struct err *e)
{
	auto_fd int fd = open(to, O_WRONLY | O_NOCTTY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "%.150s", to);
	return fetch_into(k, from, fd, NULL, e);
}

int
copy_file_down(struct copy *k, const char *from, const char *to, struct err *e)
{
	auto_free char *temp = NULL;
	auto_fd int fd = -1;
	struct stat st;
	unsigned mode;

	if (to == NULL)
		return fetch_into(k, from, STDOUT_FILENO, NULL, e);
	if (stat(to, &st) == 0 && !S_ISREG(st.st_mode))
		return fetch_into_device(k, from, to, e);
	temp = temp_name(to);
	fd = mkostemp(temp, O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, "%.150s", to);
	if (fetch_into(k, from, fd, &mode, e) == 0 &&
	    rename_into_place(fd, temp, to, mode, e) == 0)
		return 0;
	unlink(temp);
	return -1;
}
