/* body.c: passes text that is too long for a message. */
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "egress/process.h"

int
body_fd(const json_t *body, struct err *e)
{
	auto_free char *text = json_text(body);
	auto_fd int fd = memfd_create("network", MFD_CLOEXEC);
	size_t len = strlen(text);

	if (fd < 0 || write(fd, text, len) != (ssize_t)len ||
	    lseek(fd, 0, SEEK_SET) < 0)
		err_errno(e, "memfd");
	else
		len = 0;
	token_wipe(text, strlen(text));
	return len == 0 ? take_fd(&fd) : -1;
}
