/* main.c: parses the arguments of sandlease-agent and runs the command. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "agent/archive/pack.h"
#include "agent/archive/snapshot_import.h"
#include "agent/init/init.h"
#include "agent/wrapper/keys.h"
#include "agent/wrapper/wrapper.h"
#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"

static const char USAGE[] =
    "usage: sandlease-agent init --control-fd N --incarnation X --sandbox ID\n"
    "           [--log-level L] [--log-format F] [--log-kb N]\n"
    "           [--writable-root yes|no]\n"
    "       sandlease-agent wrapper\n"
    "       sandlease-agent pack FORMAT NAME\n"
    "       sandlease-agent unpack\n"
    "       sandlease-agent backup FORMAT\n"
    "       sandlease-agent restore\n"
    "       sandlease-agent keep\n"
    "       sandlease-agent receive BYTES SECONDS\n"
    "       sandlease-agent clone SECONDS\n"
    "       sandlease-agent key [--] KEY\n"
    "       sandlease-agent --version\n"
    "Started by Sandlease inside a sandbox; by hand only for `key`.\n";

static bool
take_fd_number(struct init_options *o, const char *value)
{
	int64_t n;

	if (!str_to_int(value, 3, 1 << 20, &n))
		return false;
	o->control_fd = (int)n;
	return true;
}

static bool
take_incarnation(struct init_options *o, const char *value)
{
	return !str_empty(value) &&
	    str_copy(o->incarnation, sizeof(o->incarnation), value);
}

static bool
take_sandbox(struct init_options *o, const char *value)
{
	return !str_empty(value) &&
	    str_copy(o->sandbox, sizeof(o->sandbox), value);
}

static int
index_of(const char *const *names, const char *value)
{
	for (int i = 0; names[i] != NULL; i++)
		if (str_equal(names[i], value))
			return i;
	return -1;
}

static bool
take_level(struct init_options *o, const char *value)
{
	int i = index_of(LOG_LEVEL_NAMES, value);

	o->log_level = i >= 0 ? (enum log_level)i : LOG_INFO;
	return i >= 0;
}

static bool
take_format(struct init_options *o, const char *value)
{
	int i = index_of(LOG_FORMAT_NAMES, value);

	o->log_format = i >= 0 ? (enum log_format)i : LOG_KV;
	return i >= 0;
}

static bool
take_log_kb(struct init_options *o, const char *value)
{
	return str_to_int(value, 0, 1 << 20, &o->log_kb);
}

static bool
take_writable_root(struct init_options *o, const char *value)
{
	o->writable_root = str_equal(value, "yes");
	return o->writable_root || str_equal(value, "no");
}

static const struct {
	const char *name;
	bool (*take)(struct init_options *o, const char *value);
} OPTIONS[] = {
	{ "--control-fd", take_fd_number },
	{ "--incarnation", take_incarnation },
	{ "--sandbox", take_sandbox },
	{ "--log-level", take_level },
	{ "--log-format", take_format },
	{ "--log-kb", take_log_kb },
	{ "--writable-root", take_writable_root },
};

static int
usage(void)
{
	fputs(USAGE, stderr);
	return 2;
}

static bool
take_option(struct init_options *o, const char *name, const char *value)
{
	for (size_t i = 0; i < ARRAY_LEN(OPTIONS); i++)
		if (str_equal(OPTIONS[i].name, name))
			return OPTIONS[i].take(o, value);
	return false;
}

static int
run_init(int argc, char **argv)
{
	struct init_options o = { .control_fd = -1,
		.log_level = LOG_INFO,
		.log_format = LOG_KV,
		.argv = argv };

	for (int i = 2; i < argc; i += 2)
		if (i + 1 == argc || !take_option(&o, argv[i], argv[i + 1]))
			return usage();
	if (o.control_fd < 0 || o.incarnation[0] == '\0' ||
	    o.sandbox[0] == '\0')
		return usage();
	log_open("sandlease-init", o.log_level, o.log_format);
	log_limit(o.log_kb * 1024);
	return init_main(&o);
}

static int
run_receive(const char *bytes, const char *seconds)
{
	int64_t b, s;

	if (!str_to_int(bytes, 1, INT64_MAX, &b) ||
	    !str_to_int(seconds, 1, INT32_MAX, &s))
		return usage();
	return receive_main(b, s);
}

static int
run_snapshot_import(const char *seconds)
{
	int64_t s;

	if (!str_to_int(seconds, 1, INT32_MAX, &s))
		return usage();
	return snapshot_import_main(s);
}

/* Without `--`, `key --help` would ask for a key of that name, and get it. */
static int
run_key(const char *key)
{
	return key[0] == '-' ? usage() : keys_main(key);
}

static int
run_key_after(const char *dashes, const char *key)
{
	return str_equal(dashes, "--") ? keys_main(key) : usage();
}

/*
 * Opens missing descriptors 0 to 2: else a file that is opened later becomes
 * stdout or stderr, and output is written into it.
 */
static void
ensure_standard_fds(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd < 3);
	if (fd >= 3)
		close(fd);
}

/* `none`, `one` and `two`: the function for that number of arguments. */
static const struct command {
	const char *name;
	int (*none)(void);
	int (*one)(const char *);
	int (*two)(const char *, const char *);
} COMMANDS[] = {
	{ "wrapper", .none = wrapper_main },
	{ "pack", .two = pack_main },
	{ "unpack", .none = unpack_main },
	{ "backup", .one = backup_main },
	{ "restore", .none = restore_main },
	{ "keep", .none = snapshot_export_main },
	{ "receive", .two = run_receive },
	{ "clone", .one = run_snapshot_import },
	{ "key", .one = run_key, .two = run_key_after },
};

int
main(int argc, char **argv)
{
	if (argc == 2 && str_equal(argv[1], "--version")) {
		puts("sandlease-agent " PACKAGE_VERSION);
		return 0;
	}
	ensure_standard_fds();
	if (argc >= 2 && str_equal(argv[1], "init"))
		return run_init(argc, argv);
	for (size_t i = 0; argc >= 2 && i < ARRAY_LEN(COMMANDS); i++) {
		const struct command *c = &COMMANDS[i];

		if (!str_equal(c->name, argv[1]))
			continue;
		if (argc == 2 && c->none != NULL)
			return c->none();
		if (argc == 3 && c->one != NULL)
			return c->one(argv[2]);
		if (argc == 4 && c->two != NULL)
			return c->two(argv[2], argv[3]);
	}
	return usage();
}
