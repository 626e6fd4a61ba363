/*
 * pause.c: stops a program at one point, for tests of late effects.
 *
 * Preloaded.  PAUSE_AT=connect: before the first connect to a socket whose
 * name has "/c/" in it, that is, before the first message to a sandbox's
 * init.  PAUSE_AT=flock: before the first lock of a sandbox's files, that is,
 * before the host does anything about one.  The process stops itself there
 * (SIGSTOP), once, and goes on when it is continued.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

int flock(int fd, int operation);

static void
pause_once(const char *where)
{
	static int done;
	const char *at = getenv("PAUSE_AT");

	if (done || at == NULL || strcmp(at, where) != 0)
		return;
	done = 1;
	raise(SIGSTOP);
}

int
connect(int fd, const struct sockaddr *to, socklen_t len)
{
	int (*real)(int, const struct sockaddr *, socklen_t) = (int (*)(int,
	    const struct sockaddr *, socklen_t))dlsym(RTLD_NEXT, "connect");

	if (to->sa_family == AF_UNIX &&
	    strstr(((const struct sockaddr_un *)to)->sun_path, "/c/") != NULL)
		pause_once("connect");
	return real(fd, to, len);
}

int
flock(int fd, int operation)
{
	int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");

	pause_once("flock");
	return real(fd, operation);
}
