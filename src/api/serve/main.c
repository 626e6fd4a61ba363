/* main.c: reads the settings of sandlease-api, drops root and serves. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "api/route/routes.h"
#include "api/serve/master.h"
#include "api/serve/site.h"
#include "api/serve/worker.h"
#include "common/conf.h"
#include "common/kernel_limits.h"
#include "common/log.h"
#include "common/program.h"
#include "common/token.h"
#include "web/server.h"

static const char USAGE[] =
    "usage: sandlease-api [--config FILE] [--pool api|read|auth|stream] [--check | --print]\n"
    "       sandlease-api --routes | --settings | --example | --version | --help\n";

enum {
	OPT_POOL = 255,
	OPT_CHECK,
	OPT_PRINT,
	OPT_ROUTES,
	OPT_SETTINGS,
	OPT_EXAMPLE,
	OPT_VERSION,
	OPT_HELP
};

static const struct option OPTIONS[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "pool", required_argument, NULL, OPT_POOL },
	{ "check", no_argument, NULL, OPT_CHECK },
	{ "print", no_argument, NULL, OPT_PRINT },
	{ "routes", no_argument, NULL, OPT_ROUTES },
	{ "settings", no_argument, NULL, OPT_SETTINGS },
	{ "example", no_argument, NULL, OPT_EXAMPLE },
	{ "version", no_argument, NULL, OPT_VERSION },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Options that need no settings.  True: the program has nothing more to do. */
static bool
just_print(int opt)
{
	switch (opt) {
	case OPT_ROUTES:
		routes_print(stdout);
		return true;
	case OPT_SETTINGS:
		conf_print_help(stdout);
		return true;
	case OPT_EXAMPLE:
		conf_print_example(stdout);
		return true;
	case OPT_VERSION:
		printf("sandlease-api %s\n", PACKAGE_VERSION);
		return true;
	case OPT_HELP:
		fputs(USAGE, stdout);
		return true;
	default:
		return false;
	}
}

/* A web server that uses plain CGI puts the request into the environment. */
static bool
is_cgi(void)
{
	return getenv("REQUEST_METHOD") != NULL && !server_is_fastcgi();
}

static void
warn(const char *text)
{
	fprintf(stderr, "sandlease-api: warning: %s\n", text);
}

int
main(int argc, char **argv)
{
	const char *path = NULL, *pool = NULL;
	struct conf conf;
	struct err e = { 0 };
	int opt, mode = 0;

	while ((opt = getopt_long(argc, argv, "c:", OPTIONS, NULL)) != -1) {
		if (opt == '?') {
			fputs(USAGE, stderr);
			return EXIT_FAILURE;
		}
		if (just_print(opt))
			return EXIT_SUCCESS;
		if (opt == 'c')
			path = optarg;
		else if (opt == OPT_POOL)
			pool = optarg;
		else
			mode = opt;
	}
	if (conf_load(path, &conf, &e) < 0)
		return program_fail("sandlease-api", &e);
	if (mode == OPT_PRINT) {
		conf_print(&conf, stdout);
		return EXIT_SUCCESS;
	}
	log_open("sandlease-api", (enum log_level)conf.log_level,
	    (enum log_format)conf.log_format);
	program_raise_limits();
	if (program_drop_root(&conf, &e) < 0 || token_init(&e) < 0)
		return program_fail("sandlease-api", &e);
	if (mode == OPT_CHECK) {
		(void)kernel_limits_check("/proc/sys", warn);
		site_warn(&conf, stderr);
		return master_check(&conf, &e) < 0
		    ? program_fail("sandlease-api", &e)
		    : EXIT_SUCCESS;
	}
	if (is_cgi())
		return worker_cgi(&conf);
	if (master_run(&conf, pool, &e) < 0)
		return program_fail("sandlease-api", &e);
	return EXIT_SUCCESS;
}
