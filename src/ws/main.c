/* main.c: sandlease-ws: does the WebSocket protocol for a wrapper. */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/str.h"
#include "common/wslink.h"
#include "ws/service.h"

static bool
is_socket(int fd)
{
	int type;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0;
}

int
main(int argc, char **argv)
{
	if (argc == 2 && str_equal(argv[1], "--version")) {
		puts("sandlease-ws " PACKAGE_VERSION);
		return 0;
	}
	if (argc != 1 || !is_socket(WSLINK_CONTROL)) {
		fputs("Started by Sandlease inside a sandbox; not by hand.\n",
		    stderr);
		return 2;
	}
	/*
	 * The tenant cannot trace this process from here on.  It might have
	 * done so before; so the wrapper keeps everything that the tenant must
	 * never have (wslink.h).
	 */
	prctl(PR_SET_DUMPABLE, 0);
	return service_run();
}
