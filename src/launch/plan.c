/* plan.c: parses the command line. */
#include <linux/capability.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "launch/launch.h"

enum { MODE_MAX = 07777, DIR_MODE = 0755 };

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* A sandbox always has these: each must be asked for. */
static const char *const ALWAYS[] = { "--unshare-user", "--unshare-pid",
	"--unshare-ipc", "--unshare-uts", "--unshare-net", "--unshare-cgroup",
	"--disable-userns", "--as-pid-1", "--new-session", "--clearenv" };

/* clang-format off */
static const struct {
	const char *name;
	int number;
} CAPABILITIES[] = {
	{ "CAP_CHOWN", CAP_CHOWN },
	{ "CAP_DAC_OVERRIDE", CAP_DAC_OVERRIDE },
	{ "CAP_DAC_READ_SEARCH", CAP_DAC_READ_SEARCH },
	{ "CAP_FOWNER", CAP_FOWNER },
	{ "CAP_MKNOD", CAP_MKNOD },
	{ "CAP_NET_ADMIN", CAP_NET_ADMIN },
	{ "CAP_NET_BIND_SERVICE", CAP_NET_BIND_SERVICE },
	{ "CAP_SETPCAP", CAP_SETPCAP },
	{ "CAP_SYS_ADMIN", CAP_SYS_ADMIN },
	{ "CAP_SYS_PTRACE", CAP_SYS_PTRACE },
	{ "CAP_SYS_RESOURCE", CAP_SYS_RESOURCE },
};
/* clang-format on */

/* The state of parsing; mode and size are for the next operation. */
struct parser {
	struct plan *plan;
	unsigned seen; /* bits of ALWAYS */
	bool caps_dropped;
	int64_t mode; /* -1: the operation's own */
	int64_t size;
};

static int64_t
number_in(const char *option, const char *text, int base, int64_t most)
{
	char *end;
	long long n;

	if (text[0] < '0' || text[0] > '9')
		die("%s: not a number: %s", option, text);
	n = strtoll(text, &end, base);
	if (*end != '\0' || n < 0 || n > most)
		die("%s: not a number up to %lld: %s", option, (long long)most,
		    text);
	return n;
}

int64_t
plan_number(const char *option, const char *text, int64_t most)
{
	return number_in(option, text, 10, most);
}

/* ---- settings */

static void
take_uid(struct parser *s, char **arg)
{
	s->plan->uid = (uid_t)plan_number("--uid", arg[0], INT32_MAX);
}

static void
take_gid(struct parser *s, char **arg)
{
	s->plan->gid = (gid_t)plan_number("--gid", arg[0], INT32_MAX);
}

static void
take_hostname(struct parser *s, char **arg)
{
	s->plan->hostname = arg[0];
}

static void
take_chdir(struct parser *s, char **arg)
{
	s->plan->chdir = arg[0];
}

static void
take_info_fd(struct parser *s, char **arg)
{
	s->plan->info_fd = (int)plan_number("--info-fd", arg[0], FDS_MAX);
}

static void
take_cap_drop(struct parser *s, char **arg)
{
	if (strcmp(arg[0], "ALL") != 0 || s->plan->caps != 0)
		die("--cap-drop: must be ALL, before each --cap-add");
	s->caps_dropped = true;
}

static void
take_cap_add(struct parser *s, char **arg)
{
	for (size_t i = 0; i < COUNT(CAPABILITIES); i++)
		if (strcmp(CAPABILITIES[i].name, arg[0]) == 0) {
			s->plan->caps |= UINT64_C(1) << CAPABILITIES[i].number;
			return;
		}
	die("--cap-add: unknown capability %s", arg[0]);
}

static void
add_env(struct plan *p, const char *name, const char *value)
{
	size_t i = 0;

	while (p->envp[i] != NULL)
		i++;
	if (i == ENV_MAX ||
	    snprintf(p->env[i], ENV_BYTES, "%s=%s", name, value) >= ENV_BYTES)
		die("--setenv: no room for %s", name);
	p->envp[i] = p->env[i];
}

static void
take_setenv(struct parser *s, char **arg)
{
	add_env(s->plan, arg[0], arg[1]);
}

static void
take_perms(struct parser *s, char **arg)
{
	s->mode = number_in("--perms", arg[0], 8, MODE_MAX);
}

static void
take_size(struct parser *s, char **arg)
{
	s->size = plan_number("--size", arg[0], INT64_MAX / 2);
}

/* ---- all options */

/*
 * One that has `take` is a setting, one that has `run` an operation.  `reads`:
 * its first argument is a descriptor.
 */
static const struct option {
	const char *name;
	int args;
	bool reads;
	void (*take)(struct parser *s, char **arg);
	void (*run)(const struct op *o);
} OPTIONS[] = {
	{ "--uid", 1, .take = take_uid },
	{ "--gid", 1, .take = take_gid },
	{ "--hostname", 1, .take = take_hostname },
	{ "--chdir", 1, .take = take_chdir },
	{ "--info-fd", 1, .take = take_info_fd },
	{ "--cap-drop", 1, .take = take_cap_drop },
	{ "--cap-add", 1, .take = take_cap_add },
	{ "--setenv", 2, .take = take_setenv },
	{ "--perms", 1, .take = take_perms },
	{ "--size", 1, .take = take_size },
	{ "--dir", 1, .run = run_dir },
	{ "--symlink", 2, .run = run_symlink },
	{ "--file", 2, .reads = true, .run = run_file },
	{ "--bind", 2, .run = run_bind },
	{ "--ro-bind", 2, .run = run_ro_bind },
	{ "--ro-bind-try", 2, .run = run_ro_bind_try },
	{ "--proc", 1, .run = run_proc },
	{ "--dev", 1, .run = run_dev },
	{ "--tmpfs", 1, .run = run_tmpfs },
	{ "--remount-ro", 1, .run = run_remount_ro },
};

static void
add_op(struct parser *s, const struct option *o, char **arg)
{
	struct plan *p = s->plan;
	const char *where = arg[o->args - 1];

	if (where[0] != '/' || p->op_count == OPS_MAX)
		die("%s %s: %s", o->name, where,
		    where[0] != '/' ? "must begin with /" : "too many");
	p->ops[p->op_count++] = (struct op){ .run = o->run,
		.a = arg[0],
		.b = o->args == 2 ? arg[1] : NULL,
		.fd =
		    o->reads ? (int)plan_number(o->name, arg[0], FDS_MAX) : -1,
		.mode = s->mode >= 0 ? (unsigned)s->mode : DIR_MODE,
		.size = s->size };
	s->mode = -1;
	s->size = 0;
}

static bool
is_always(struct parser *s, const char *name)
{
	for (size_t i = 0; i < COUNT(ALWAYS); i++)
		if (strcmp(ALWAYS[i], name) == 0) {
			s->seen |= 1U << i;
			return true;
		}
	return false;
}

/* Takes an option and its arguments; returns how many arguments it has. */
static int
take_option(struct parser *s, char **argv)
{
	for (size_t i = 0; i < COUNT(OPTIONS); i++) {
		const struct option *o = &OPTIONS[i];

		if (strcmp(o->name, argv[0]) != 0)
			continue;
		for (int k = 1; k <= o->args; k++)
			if (argv[k] == NULL)
				die("%s: an argument is missing", o->name);
		if (o->take != NULL)
			o->take(s, argv + 1);
		else
			add_op(s, o, argv + 1);
		return o->args;
	}
	die("unknown option %s", argv[0]);
}

void
plan_parse(struct plan *p, char **argv)
{
	struct parser s = { .plan = p, .mode = -1 };

	p->info_fd = -1;
	p->chdir = "/";
	for (; *argv != NULL && strcmp(*argv, "--") != 0; argv++)
		if (!is_always(&s, *argv))
			argv += take_option(&s, argv);
	if (*argv == NULL || argv[1] == NULL)
		die("no program to start");
	p->command = argv + 1;
	for (size_t i = 0; i < COUNT(ALWAYS); i++)
		if ((s.seen & 1U << i) == 0)
			die("%s: is missing, but cannot be left out",
			    ALWAYS[i]);
	if (!s.caps_dropped || p->info_fd < 0 || p->hostname == NULL)
		die("--cap-drop, --info-fd or --hostname is missing");
	add_env(p, "PWD", p->chdir);
}
