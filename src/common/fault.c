/* fault.c: makes processes die, stop and fail, in test builds only. */
#include "common/fault.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

enum { TEXT_MAX = 4096, NAME_MAX_LEN = 64, NAMES_MAX = 256 };

static const char *
faults_dir(void)
{
	return getenv("SANDLEASE_FAULTS");
}

/* Counts how often this process has passed the point, this time included. */
static long
count_pass(const char *name)
{
	static struct {
		char name[NAME_MAX_LEN];
		long count;
	} seen[NAMES_MAX];

	for (size_t i = 0; i < NAMES_MAX; i++) {
		if (seen[i].count == 0)
			str_copy(seen[i].name, NAME_MAX_LEN, name);
		if (str_equal(seen[i].name, name))
			return ++seen[i].count;
	}
	return 0;
}

static bool
named_by(const char *variable, const char *name, long pass)
{
	const char *at = getenv(variable);
	size_t len = strlen(name);

	if (at == NULL || strncmp(at, name, len) != 0 ||
	    (at[len] != '\0' && at[len] != ':'))
		return false;
	return pass == (at[len] == ':' ? strtol(at + len + 1, NULL, 10) : 1);
}

/*
 * True when a fault is armed for this point.  Only one process can rename the
 * file, so the fault hits once, and one process.
 */
static bool
fire_armed(const char *what, const char *name)
{
	auto_free char *armed = NULL, *fired = NULL;

	if (faults_dir() == NULL)
		return false;
	armed = xasprintf("%s/%s@%s", faults_dir(), what, name);
	fired =
	    xasprintf("%s/fired@%s.%ld", faults_dir(), name, (long)getpid());
	return rename(armed, fired) == 0;
}

static void
append_to_trace(const char *name)
{
	auto_free char *path = NULL, *line = NULL;
	auto_fd int fd = -1;

	if (faults_dir() == NULL)
		return;
	path = xasprintf("%s/trace", faults_dir());
	fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (fd < 0)
		return;
	line = xasprintf("%s\n", name);
	if (write(fd, line, strlen(line)) < 0)
		return; /* the disk may be full on purpose */
}

void
fault_point(const char *name)
{
	long pass = count_pass(name);

	append_to_trace(name);
	if (named_by("SANDLEASE_PAUSE_AT", name, pass) ||
	    fire_armed("pause", name))
		raise(SIGSTOP);
	if (named_by("SANDLEASE_CRASH_AT", name, pass) ||
	    fire_armed("crash", name))
		raise(SIGKILL);
}

static bool
chance(double p)
{
	static bool seeded;
	struct timespec ts;

	if (!seeded) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		srandom((unsigned)(ts.tv_nsec ^ getpid()));
		seeded = true;
	}
	return (double)random() < p * (double)RAND_MAX;
}

struct fault {
	double fail;
	double hang;
	double seconds;
	double full;
};

static void
read_fault_line(const char *line, const char *op, struct fault *f)
{
	char kind[NAME_MAX_LEN] = "", whom[NAME_MAX_LEN] = "";
	double a = 0, b = 1;
	int n = sscanf(line, "%63s %63s %lf%*[s ]%lf", kind, whom, &a, &b);

	if (n < 3 || (!str_equal(whom, "*") && !str_equal(whom, op)))
		return;
	if (str_equal(kind, "provider-fail:"))
		f->fail = a;
	if (str_equal(kind, "provider-full:"))
		f->full = a;
	if (str_equal(kind, "provider-hang:")) {
		f->seconds = a;
		f->hang = n > 3 ? b : 1;
	}
}

static struct fault
read_faults(const char *what, const char *op)
{
	auto_free char *path = NULL, *whole = NULL;
	auto_fd int fd = -1;
	char text[TEXT_MAX], *save = NULL;
	struct fault f = { 0 };
	ssize_t n;

	if (faults_dir() == NULL)
		return f;
	path = xasprintf("%s/provider", faults_dir());
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return f;
	text[n] = '\0';
	whole = what[0] == '\0' ? xstrdup(op) : xasprintf("%s.%s", what, op);
	for (char *l = strtok_r(text, "\n", &save); l != NULL;
	     l = strtok_r(NULL, "\n", &save))
		read_fault_line(l, whole, &f);
	return f;
}

static int
set_failure(const char *op, struct err *e)
{
	if (chance(0.5))
		return err_set(e, ERR_UNAVAILABLE, CODE_TIMED_OUT,
		    "%s failed on purpose: no answer", op);
	return err_set(e, ERR_INTERNAL, CODE_INTERNAL, "%s failed on purpose",
	    op);
}

int
fault_before(const char *what, const char *op, struct err *e)
{
	struct fault f = read_faults(what, op);

	if (f.hang > 0 && chance(f.hang))
		usleep((useconds_t)(f.seconds * 1e6));
	if (f.full > 0 && chance(f.full))
		return err_set(e, ERR_NO_SPACE, CODE_NO_SPACE_LEFT,
		    "%s finds no space on purpose", op);
	return f.fail > 0 && chance(f.fail / 2) ? set_failure(op, e) : 0;
}

int
fault_after(const char *what, const char *op, struct err *e)
{
	struct fault f = read_faults(what, op);

	return f.fail > 0 && chance(f.fail / 2) ? set_failure(op, e) : 0;
}
