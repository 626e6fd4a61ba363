/* job.c: starts programs that work on files in the background. */
#include "provider/store/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/cgroup/cgroup.h"
#include "provider/host/file.h"
#include "provider/host/proc.h"
#include "provider/host/spawn.h"

enum { WORDS_MAX = 64, REPORT_MAX = 64 * 1024 };

/* clang-format off */
static const char *const ENCLOSED[] = {
	"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
	"--unshare-net", "--unshare-cgroup", "--disable-userns",
	"--new-session", "--clearenv", "--cap-drop", "ALL",
	"--uid", "1000", "--gid", "1000", "--proc", "/proc",
	/* names of files are UTF-8: libc needs the locale */
	"--ro-bind-try", "/usr/lib/locale", "/usr/lib/locale",
};
static const char *const AT_LAST[] = {
	"--remount-ro", "/", "--chdir", "/to", "--", "/sandlease-agent",
};
/* clang-format on */

/*
 * One of the JOB_SLOTS slots of an owner.  The job inherits the lock and holds
 * it for as long as it lives.  The lock also protects the cgroup of that name.
 */
struct slot {
	int lock; /* owned */
	char *name;
};

static void
slot_free(struct slot *s)
{
	mem_close_fd(&s->lock);
	mem_free_ptr(&s->name);
}

#define auto_slot __attribute__((cleanup(slot_free)))

struct command_line {
	const char *word[WORDS_MAX]; /* borrowed */
	size_t count;
};

static void
add_words(struct command_line *l, const char *const *words, size_t count)
{
	for (size_t i = 0; i < count && words[i] != NULL; i++)
		if (l->count + 1 < WORDS_MAX)
			l->word[l->count++] = words[i];
}

static void
add_bind(struct command_line *l, const char *how, const char *from,
    const char *to)
{
	const char *const words[] = { how, from, to };

	add_words(l, words, ARRAY_LEN(words));
}

/* The cgroup that the new process enters: the argument of enter_group(). */
struct job_group {
	const struct cgroup_tree *tree;
	const char *name;
};

static int
enter_group(const void *arg, struct err *e)
{
	const struct job_group *g = arg;

	return cgroup_job_enter(g->tree, g->name, e);
}

/*
 * Starts the program in its cgroup.  Its standard output is the report; its
 * standard error is the pipe `over`, of which job_wait() uses only the end of
 * file.  bwrap keeps these descriptors and the slot's lock open until its last
 * process has ended.
 */
static int
start_program(const struct provider *p, const struct job *j, const char *to,
    int report, int over, const struct slot *slot, struct err *e)
{
	auto_fd int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[] = { j->in >= 0 ? j->in : null, report, over,
		slot->lock };
	struct command_line l = { .word = { p->conf->bwrap_path }, .count = 1 };
	struct cgroup_tree t;

	if (null < 0)
		return err_errno(e, "/dev/null");
	if (cgroup_find(p->conf->cgroup_root, &t, e) < 0 ||
	    cgroup_job_make(&t, slot->name, e) < 0)
		return -1;
	add_words(&l, ENCLOSED, ARRAY_LEN(ENCLOSED));
	add_bind(&l, "--ro-bind", p->conf->agent_path, "/sandlease-agent");
	add_bind(&l, "--bind", to, "/to");
	if (j->from != NULL)
		add_bind(&l, "--ro-bind", j->from, "/from");
	add_words(&l, AT_LAST, ARRAY_LEN(AT_LAST));
	add_words(&l, j->words, JOB_WORDS_MAX);
	return spawn_alone(
	    &(struct spawn){ .argv = (char *const *)(uintptr_t)l.word,
		.fds = fds,
		.fd_count = (int)ARRAY_LEN(fds),
		.memory_bytes = CGROUP_JOB_BYTES,
		.enter = enter_group,
		.arg = &(struct job_group){ &t, slot->name } },
	    e);
}

/* False if a job holds the slot, or its file cannot be opened. */
static bool
lock_slot(const struct provider *p, const char *owner, int n, struct slot *out)
{
	auto_free char *path =
	    xasprintf("%s/jobs/%s-%d", p->conf->state_dir, owner, n);
	auto_fd int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	*out = (struct slot){ take_fd(&fd), xasprintf("%s-%d", owner, n) };
	return true;
}

static int
take_slot(const struct provider *p, const char *owner, int64_t deadline_ms,
    struct slot *out, struct err *e)
{
	for (;;) {
		for (int n = 0; n < JOB_SLOTS; n++)
			if (lock_slot(p, owner, n, out))
				return 0;
		if (clock_left_ms(deadline_ms) == 0)
			return err_set(e, ERR_BUSY, CODE_JOBS_BUSY,
			    "%d snapshots are being taken or copied already",
			    JOB_SLOTS);
		proc_nap(deadline_ms);
	}
}

int
job_sweep(const struct provider *p, struct err *e)
{
	auto_names char **names = NULL;
	struct cgroup_tree t;

	if (cgroup_find(p->conf->cgroup_root, &t, e) < 0 ||
	    cgroup_job_names(&t, &names, e) < 0)
		return -1;
	for (char **n = names; *n != NULL; n++) {
		auto_slot struct slot slot = { .lock = -1 };
		char *dash = strrchr(*n, '-');
		int64_t number;

		/* the other names are control files */
		if (dash == NULL ||
		    !str_to_int(dash + 1, 0, JOB_SLOTS - 1, &number))
			continue;
		*dash = '\0';
		if (lock_slot(p, *n, (int)number, &slot))
			cgroup_job_remove(&t, slot.name);
	}
	return 0;
}

/* Makes and locks the report.  O_EXCL: a job is never started twice. */
static int
open_report(int dir, struct err *e)
{
	auto_fd int fd =
	    openat(dir, "report", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 && errno != EEXIST)
		return err_errno(e, "report");
	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return err_set(e, ERR_BUSY, CODE_JOB_RUNS,
		    "another job works on these files, or has done so");
	return take_fd(&fd);
}

int
job_begin(const struct provider *p, const char *dir, const struct job *j,
    int64_t deadline_ms, int *ended, struct err *e)
{
	auto_slot struct slot slot = { .lock = -1 };
	auto_free char *to = xasprintf("%s/%s", dir, j->to);
	auto_fd int at = file_dir(AT_FDCWD, dir, 0700, e);
	auto_fd int report = -1;
	auto_fd int over = -1;
	int ends[2];

	*ended = -1;
	if (at < 0 || take_slot(p, j->owner, deadline_ms, &slot, e) < 0)
		return -1;
	report = open_report(at, e);
	if (report < 0)
		return -1;
	if (mkdirat(at, j->to, 0700) < 0 && errno != EEXIST)
		return err_errno(e, "mkdir %s", to);
	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_errno(e, "pipe");
	*ended = ends[0];
	over = ends[1];
	if (start_program(p, j, to, report, over, &slot, e) == 0)
		return 0;
	mem_close_fd(ended);
	return -1;
}

/* A report that is no JSON means that the job was killed before its end. */
static void
read_report(const struct buf *text, struct job_seen *out)
{
	auto_json json_t *said = NULL;
	const json_t *number;
	struct err ignored;

	out->state = JOB_FAILED;
	if (text->len == 0 ||
	    json_parse(text->data, text->len, &said, &ignored) < 0) {
		err_set(&out->why, ERR_CONFLICT, CODE_JOB_ENDED,
		    "the job was killed before it had finished");
		return;
	}
	number = json_object_get(said, "errno");
	out->entries = json_integer_value(json_object_get(said, "entries"));
	out->bytes = json_integer_value(json_object_get(said, "bytes"));
	if (number == NULL && out->entries >= 0 && out->bytes >= 0) {
		out->state = JOB_DONE;
	} else if (json_integer_value(number) == ENOSPC) {
		err_set(&out->why, ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE,
		    "%s", json_str(said, "message"));
	} else {
		err_set(&out->why, ERR_CONFLICT, CODE_JOB_FAILED, "%s",
		    json_str(said, "message"));
	}
}

int
job_look(const char *dir, struct job_seen *out, struct err *e)
{
	auto_free char *path = xasprintf("%s/report", dir);
	auto_fd int fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	auto_buf struct buf text = { 0 };
	bool found;

	*out = (struct job_seen){ .state = JOB_NONE };
	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%s", path);
	if (flock(fd, LOCK_SH | LOCK_NB) < 0) {
		out->state = JOB_RUNS;
		return errno == EWOULDBLOCK ? 0 : err_errno(e, "%s", path);
	}
	if (file_read(AT_FDCWD, path, REPORT_MAX, &found, &text, e) < 0)
		return -1;
	read_report(&text, out);
	return 0;
}

int
job_await(const char *dir, int64_t deadline_ms, struct job_seen *out,
    struct err *e)
{
	do {
		if (job_look(dir, out, e) < 0)
			return -1;
		if (out->state != JOB_RUNS)
			return 0;
		proc_nap(deadline_ms);
	} while (clock_left_ms(deadline_ms) > 0);
	return 0;
}

int
job_wait(const char *dir, int ended, int64_t deadline_ms, struct job_seen *out,
    struct err *e)
{
	struct pollfd p = { .fd = ended, .events = POLLIN };
	char ignored[256];
	int n;

	/* until end of file: the job's last process has ended */
	do {
		n = poll(&p, 1, clock_left_ms(deadline_ms));
	} while ((n < 0 && errno == EINTR) ||
	    (n > 0 && read(ended, ignored, sizeof(ignored)) > 0));
	/* a dying process may close this pipe before it drops its lock */
	return job_await(dir, deadline_ms, out, e);
}
