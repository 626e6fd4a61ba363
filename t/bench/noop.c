/*
 * noop.c: a FastCGI worker that does nothing, to compare our workers with.
 *
 *   noop SOCKET PROCESSES
 *
 * Uses the same library, the same backlog and as many processes as the pool it
 * is compared with; each process answers every request with 204 and as many
 * headers, of the same lengths, as that pool sends for a preview.
 */
#include <fcgiapp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/str.h"

static const char ANSWER[] =
    "Status: 204 No Content\r\n"
    "X-Request-Id: 0123456789abcdef0123456789abcdef\r\n"
    "X-Sandlease-Name: \r\n"
    "X-Sandlease-Host: localhost\r\n"
    "X-Sandlease-Upstream: unix:/run/sandlease/s/0123456789abcdefghij.1.8000.sock\r\n"
    "\r\n";

enum { BACKLOG = 4096, PROCESSES_MAX = 256 };

static void
serve(int listen_fd)
{
	FCGX_Request r;

	FCGX_InitRequest(&r, listen_fd, 0);
	while (FCGX_Accept_r(&r) == 0) {
		FCGX_PutS(ANSWER, r.out);
		FCGX_Finish_r(&r);
	}
}

static void
spawn(int listen_fd, pid_t parent)
{
	if (fork() != 0)
		return;
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (getppid() == parent)
		serve(listen_fd);
	_exit(EXIT_FAILURE);
}

int
main(int argc, char **argv)
{
	int64_t processes;
	int fd;

	if (argc != 3 || !str_to_int(argv[2], 1, PROCESSES_MAX, &processes)) {
		fputs("usage: noop SOCKET PROCESSES\n", stderr);
		return EXIT_FAILURE;
	}
	umask(007); /* nginx has the group of the directory */
	fd = FCGX_Init() == 0 ? FCGX_OpenSocket(argv[1], BACKLOG) : -1;
	if (fd < 0) {
		perror(argv[1]);
		return EXIT_FAILURE;
	}
	for (int64_t i = 0; i < processes; i++)
		spawn(fd, getpid());
	while (wait(NULL) > 0)
		;
	return EXIT_FAILURE;
}
