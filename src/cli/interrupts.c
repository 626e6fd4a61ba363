/* interrupts.c: reads signals from a descriptor, for use with poll(). */
#include "cli/interrupts.h"

#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "common/mem.h"

int
interrupts_open(struct err *e)
{
	static const int OURS[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT,
		SIGWINCH };
	sigset_t set;
	int fd;

	sigemptyset(&set);
	for (size_t i = 0; i < ARRAY_LEN(OURS); i++)
		sigaddset(&set, OURS[i]);
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0 || sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return err_errno(e, "signals");
	return fd;
}

int
interrupts_next(int fd)
{
	struct signalfd_siginfo info;

	if (read(fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
		return 0;
	return (int)info.ssi_signo;
}

int
interrupts_end(int fd)
{
	int number = interrupts_next(fd);

	return number == SIGWINCH ? 0 : number;
}

const char *
interrupts_name(int number)
{
	const char *name = sigabbrev_np(number);

	return name != NULL ? name : "TERM";
}
