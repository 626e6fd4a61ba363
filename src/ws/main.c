/* main.c: sandlease-ws, which speaks WebSocket for a wrapper. */
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "common/str.h"
#include "common/wslink.h"
#include "ws/service.h"

enum { IDLE_MS = 30 * 1000, IDLE_MAX_MS = 24 * 3600 * 1000 };

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
	int64_t idle_ms = IDLE_MS;

	if (argc == 2 && str_equal(argv[1], "--version")) {
		puts("sandlease-ws " PACKAGE_VERSION);
		return 0;
	}
	/* a test has no half a minute */
	if (argc == 2 && str_to_int(argv[1], 1, IDLE_MAX_MS, &idle_ms))
		argc--;
	if (argc != 1 || !is_socket(WSLINK_LISTENER) ||
	    !is_socket(WSLINK_CONTROL)) {
		fputs("Started by Sandlease inside a sandbox; not by hand.\n",
		    stderr);
		return 2;
	}
	/* nobody of the tenant's reads our memory or takes our sockets */
	prctl(PR_SET_DUMPABLE, 0);
	return service_run(idle_ms);
}
