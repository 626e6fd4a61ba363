/* main.c: reads the settings of sandlease-egress, drops root and serves. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/conf.h"
#include "common/log.h"
#include "common/program.h"
#include "common/token.h"
#include "egress/rows.h"

static const char USAGE[] = "usage: sandlease-egress [--config FILE]\n"
			    "       sandlease-egress --version | --help\n";

static const struct option OPTIONS[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

int
main(int argc, char **argv)
{
	const char *path = NULL;
	struct conf conf;
	struct err e = { 0 };
	int opt;

	while ((opt = getopt_long(argc, argv, "c:", OPTIONS, NULL)) != -1) {
		switch (opt) {
		case 'c':
			path = optarg;
			break;
		case 'V':
			printf("sandlease-egress %s\n", PACKAGE_VERSION);
			return EXIT_SUCCESS;
		case 'h':
			fputs(USAGE, stdout);
			return EXIT_SUCCESS;
		default:
			fputs(USAGE, stderr);
			return EXIT_FAILURE;
		}
	}
	if (conf_load(path, &conf, &e) < 0)
		return program_fail("sandlease-egress", &e);
	log_open("sandlease-egress", (enum log_level)conf.log_level,
	    (enum log_format)conf.log_format);
	program_raise_limits();
	if (program_drop_root(&conf, &e) < 0 || token_init(&e) < 0 ||
	    rows_run(&conf, &e) < 0)
		return program_fail("sandlease-egress", &e);
	return EXIT_SUCCESS;
}
