/* main.c: sandlease-reaper: reads the settings, drops root, makes one pass. */
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/clock.h"
#include "common/id.h"
#include "common/json.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/program.h"
#include "common/token.h"
#include "reaper/parts.h"

static const char USAGE[] =
    "usage: sandlease-reaper [--config FILE] [--dry-run]\n"
    "       sandlease-reaper --version | --help\n";

static const struct option OPTIONS[] = {
	{ "config", required_argument, NULL, 'c' },
	{ "dry-run", no_argument, NULL, 'n' },
	{ "version", no_argument, NULL, 'V' },
	{ "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

/*
 * Prints the summary and records it.  A pass that could not begin is recorded,
 * too, if the database answers.
 */
static int
record_pass(struct pass *p, struct store *store, int64_t took_ms, struct err *e)
{
	auto_json json_t *o = pass_summary(p);
	auto_free char *text = json_text(o);
	char at[CLOCK_ISO_MAX];

	clock_iso(at);
	printf("%s %s reaper: %s in %" PRId64 " ms\n", at,
	    LOG_LEVEL_NAMES[p->errors > 0 ? LOG_ERROR : LOG_INFO], text,
	    took_ms);
	if (p->dry_run)
		return 0;
	return STORE_RUN(store, STMT_REAPER_RUN_ADD, NULL, e,
	    p->ctl->conf->host_name, pass_number(took_ms).text, text);
}

static int
run_pass(const struct conf *conf, bool dry_run)
{
	static const struct store_options OPTIONS_OF_STORE = {
		"sandlease-reaper", 5000
	};
	struct store *store = store_new(conf->database, &OPTIONS_OF_STORE);
	struct control ctl = { .conf = conf };
	int64_t began = clock_ms();
	struct pass p = { .ctl = &ctl,
		.dry_run = dry_run,
		.end_ms = began + conf->reaper_pass_seconds * 1000 };
	struct err e = { 0 }, ignored = { 0 };
	int rc = store_check_pooling(store, &e);

	if (rc == 0)
		rc = control_open(conf, store, &ctl, &e);
	if (rc == 0) {
		id_random(ctl.trace, ID_REQUEST_LEN);
		parts_run(&p);
		rc = record_pass(&p, store, clock_ms() - began, &e);
	} else if (e.kind != ERR_UNAVAILABLE ||
	    e.code != CODE_DATABASE_UNAVAILABLE) {
		p.errors++;
		ctl.conf = conf;
		(void)!record_pass(&p, store, clock_ms() - began, &ignored);
	}
	store_free(store);
	if (rc < 0)
		return program_fail("sandlease-reaper", &e);
	return p.errors > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int
main(int argc, char **argv)
{
	const char *path = NULL;
	bool dry_run = false;
	struct conf conf;
	struct err e = { 0 };
	int opt;

	while ((opt = getopt_long(argc, argv, "c:n", OPTIONS, NULL)) != -1) {
		switch (opt) {
		case 'c':
			path = optarg;
			break;
		case 'n':
			dry_run = true;
			break;
		case 'V':
			printf("sandlease-reaper %s\n", PACKAGE_VERSION);
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
		return program_fail("sandlease-reaper", &e);
	log_open("sandlease-reaper", (enum log_level)conf.log_level,
	    (enum log_format)conf.log_format);
	program_raise_limits();
	if (program_drop_root(&conf, &e) < 0 || token_init(&e) < 0)
		return program_fail("sandlease-reaper", &e);
	return run_pass(&conf, dry_run);
}
