/* log.c: opens and reads agent.log, which init writes and keeps small. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "provider/box/box.h"

int
box_log(const struct provider *p, const struct box *b, struct err *e)
{
	auto_fd int fd = -1;
	struct stat st;

	/* the agent keeps its log small; if it failed to, start a new one */
	if (fstatat(b->dir, "agent.log", &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    st.st_size > p->conf->agent_log_kb * 1024 &&
	    renameat(b->dir, "agent.log", b->dir, "agent.log.1") < 0)
		return err_errno(e, "agent.log");
	fd = openat(b->dir, "agent.log",
	    O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0)
		return err_errno(e, "agent.log");
	return take_fd(&fd);
}

int
box_log_tail(const struct box *b, int64_t from, size_t max, struct buf *out,
    struct err *e)
{
	auto_fd int fd = -1;
	struct stat st;
	ssize_t n;

	if (b->dir < 0)
		return 0;
	fd = openat(b->dir, "agent.log", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, "agent.log");
	if (fstat(fd, &st) < 0)
		return err_errno(e, "agent.log");
	if (st.st_size - from > (off_t)max)
		from = st.st_size - (off_t)max;
	n = pread(fd, buf_room(out, max), max, from);
	if (n < 0)
		return err_errno(e, "agent.log");
	out->len += (size_t)n;
	out->data[out->len] = '\0';
	return 0;
}
