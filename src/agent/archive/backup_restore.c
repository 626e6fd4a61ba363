/* backup_restore.c: replaces a directory by the content of an archive. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/archive/backup.h"
#include "agent/archive/backup_internal.h"
#include "agent/files/swap.h"
#include "common/mem.h"

static int
open_archive(const char *path, struct err *e)
{
	/* O_NONBLOCK: open() would block on a fifo without a writer */
	auto_fd int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return err_set(e, ERR_NOT_FOUND, CODE_BACKUP_NOT_FOUND,
		    "%.180s does not exist", path);
	if (fd < 0 || fstat(fd, &st) < 0)
		return files_fail(e, path);
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_INTERNAL, CODE_NONE,
		    "%.180s is not a regular file", path);
	return take_fd(&fd);
}

static bool
is_squashfs(int fd)
{
	static const char MAGIC[4] = { 'h', 's', 'q', 's' };
	char head[sizeof(MAGIC)];

	return pread(fd, head, sizeof(head), 0) == (ssize_t)sizeof(head) &&
	    memcmp(head, MAGIC, sizeof(head)) == 0;
}

/* Our helper reports on stdout, unsquashfs on stderr; the other is ignored. */
static int
start_unpacker(struct helper *w, bool squashfs, int fd, const char *where,
    struct err *e)
{
	static const char *const OURS[] = { "/proc/self/exe", "restore", NULL };
	static const char *const THEIRS[] = { BACKUP_UNSQUASHFS, "-force",
		"-no-progress", "-quiet", "-no-xattrs", "-data-queue", "32",
		"-frag-queue", "32", "-dest", ".", "/proc/self/fd/0", NULL };
	auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (squashfs && access(BACKUP_UNSQUASHFS, X_OK) < 0)
		return err_set(e, ERR_INTERNAL, CODE_NONE,
		    "the archive is a squashfs, and %s is not installed",
		    BACKUP_UNSQUASHFS);
	return helper_start(w,
	    &(struct helper_plan){ squashfs ? THEIRS : OURS, where, fd,
		squashfs ? null : HELPER_PIPE, squashfs ? HELPER_PIPE : null },
	    e);
}

static int
extract_archive(const struct backup *b, const struct helper_boss *boss, int fd,
    const char *where, struct err *e)
{
	auto_helper struct helper w = HELPER_NONE;
	auto_buf struct buf said = { 0 };
	bool squashfs = is_squashfs(fd);
	int status;

	if (start_unpacker(&w, squashfs, fd, where, e) < 0 ||
	    helper_watch(&w, boss, squashfs ? w.err : w.out, &said, &status,
		e) < 0)
		return -1;
	if (status == 0)
		return 0;
	return squashfs ? backup_blame_theirs(&said, status, b->archive, e)
			: backup_blame_ours(&said, b->archive, e);
}

static int
restore_dir(const struct backup *b, const struct helper_boss *boss,
    struct err *e)
{
	auto_fd int fd = open_archive(b->archive, e);
	auto_swap struct swap s = { 0 };

	if (fd < 0 || swap_open(&s, b->dir, b->ours, e) < 0 ||
	    extract_archive(b, boss, fd, s.fresh, e) < 0)
		return -1;
	return swap_commit(&s, e);
}

int
backup_restore(const struct backup *b, const struct helper_boss *boss,
    struct err *e)
{
	return restore_dir(b, boss, e) == 0
	    ? 0
	    : backup_failed(CODE_BACKUP_RESTORE_FAILED, e);
}
