/* output.c: writes all bytes to a descriptor, and notices a closed pipe. */
#include "cli/output.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base64.h"

bool
output_bytes(int fd, const char *data, size_t len)
{
	while (len > 0) {
		struct pollfd p = { fd, POLLOUT, 0 };
		ssize_t n = write(fd, data, len);

		/* a program that shares the terminal made it non-blocking */
		if (n < 0 && errno == EAGAIN)
			(void)poll(&p, 1, -1);
		else if (n < 0 && errno != EINTR)
			return false;
		if (n > 0) {
			data += n;
			len -= (size_t)n;
		}
	}
	return true;
}

bool
output_base64(int fd, const char *text)
{
	auto_buf struct buf bytes = { 0 };

	return !base64_decode(&bytes, text, strlen(text)) ||
	    output_bytes(fd, bytes.data, bytes.len);
}

bool
output_is_unread(void)
{
	struct pollfd p = { STDOUT_FILENO, 0, 0 };

	return ferror(stdout) || (poll(&p, 1, 0) > 0 && p.revents != 0);
}
