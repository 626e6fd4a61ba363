/* open.c: opens a preview in the browser. */
#include <errno.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "cli/cmd/ports.h"
#include "common/mem.h"

extern char **environ;

static bool
has_display(void)
{
	return !str_empty(getenv("DISPLAY")) ||
	    !str_empty(getenv("WAYLAND_DISPLAY"));
}

static int
browse(const char *url, struct err *e)
{
	char program[] = "xdg-open";
	char *copy = xstrdup(url);
	char *argv[] = { program, copy, NULL };
	int status = 0;
	pid_t pid;

	errno = posix_spawnp(&pid, program, NULL, NULL, argv, environ);
	free(copy);
	if (errno != 0)
		return err_errno(e,
		    "xdg-open cannot be run; open the URL yourself");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_BROWSER,
		    "xdg-open failed; open the URL yourself");
	return EXIT_SUCCESS;
}

int
cmd_open(struct cli *k, struct err *e)
{
	auto_json json_t *port = NULL;
	const char *url;

	if (ports_expose(k, &port, e) < 0)
		return -1;
	ports_show(k, port);
	url = json_str(port, "url");
	/* xdg-open would start any program for another scheme */
	if (args_has(&k->args, "print") || !has_display() ||
	    (!str_starts(url, "http://") && !str_starts(url, "https://")))
		return EXIT_SUCCESS;
	return browse(url, e);
}
