/* kernel_start.c: finds a language's interpreter and starts a kernel. */
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/proctree.h"
#include "agent/code/kernel.h"
#include "agent/code/kernel_talk.h"
#include "agent/code/kernel_text.h"
#include "agent/shell/envset.h"
#include "agent/shell/path_list.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"

enum {
	START_MS = 60000,   /* for a kernel to send `ready` */
	DYING_MS = 1000,    /* for a failed kernel to exit */
	PROGRAM_MAX = 4097, /* bytes of a path */
	WORDS_MAX = 2048    /* bytes of output kept for an error message */
};

struct language {
	const char *name;
	const char *aliases;    /* comma separated */
	const char *programs;   /* comma separated; the first found is used */
	enum err_code missing;  /* the error's code if none is found */
	const char *argv[6];    /* the arguments after the program */
	const char *needs;      /* files of which one must exist; NULL: none */
	const char *text, *end; /* our program (kernel_text.h) */
};

/*
 * Removes the working directory from sys.path, so that our program does not
 * import a file of the tenant instead of a module of Python.
 */
#define PYTHON_BOOT                                                            \
	"import os, sys; sys.path[:1] == [''] and sys.path.pop(0); "           \
	"n = 'kernel_python.py'; "                                             \
	"t = os.read(0, 1 << 20).split(b'\\0'); "                              \
	"exec(compile(t[0], n, 'exec'), "                                      \
	"{'__name__': 'kernel', '__file__': n, 'notebook_text': t[1]})"
#define TYPESCRIPT_PLACES                                                      \
	"/usr/share/nodejs/typescript,/usr/lib/node_modules/typescript,"       \
	"/usr/local/lib/node_modules/typescript,"                              \
	"/workspace/node_modules/typescript"
/* import() works only in a function that -e has compiled: pass one on */
#define NODE_BOOT                                                              \
	"require('vm').runInThisContext(require('fs').readFileSync(0, "        \
	"'utf8'), 'kernel_node.js')(require, (name) => import(name))"

static const struct language LANGUAGES[] = {
	[KERNEL_PYTHON] = { "python", "python,python3,py", "python3,python",
	    CODE_PYTHON_NOT_AVAILABLE, { "-u", "-c", PYTHON_BOOT }, NULL,
	    kernel_text_python, kernel_text_python_end },
	[KERNEL_JAVASCRIPT] = { "javascript", "javascript,js,node",
	    "node,nodejs", CODE_JAVASCRIPT_NOT_AVAILABLE,
	    { "--expose-internals", "-e", NODE_BOOT }, NULL, kernel_text_node,
	    kernel_text_node_end },
	[KERNEL_TYPESCRIPT] = { "typescript", "typescript,ts", "node,nodejs",
	    CODE_JAVASCRIPT_NOT_AVAILABLE,
	    { "--expose-internals", "-e", NODE_BOOT, "typescript",
		TYPESCRIPT_PLACES },
	    TYPESCRIPT_PLACES, kernel_text_node, kernel_text_node_end },
};
_Static_assert(ARRAY_LEN(LANGUAGES) == KERNEL__MAX, "every one has a row");

enum kernel_language
kernel_language(const char *name)
{
	int l = 0;

	while (l < KERNEL__MAX && !str_list_has(LANGUAGES[l].aliases, name))
		l++;
	return (enum kernel_language)l;
}

const char *
kernel_name(enum kernel_language l)
{
	return LANGUAGES[l].name;
}

/* ---- the interpreter */

/* Copies the next element of a list ("" if empty); false at the end. */
static bool
next_in_list(const char **list, char separator, char *out, size_t size)
{
	size_t len;

	if (*list == NULL)
		return false;
	len = strcspn(*list, (char[]){ separator, '\0' });
	snprintf(out, size, "%.*s", len < size ? (int)len : 0, *list);
	*list = (*list)[len] == '\0' ? NULL : *list + len + 1;
	return true;
}

static bool
find_program(enum kernel_language l, char *const *envp, char out[PROGRAM_MAX])
{
	const char *names = LANGUAGES[l].programs;
	char name[16];

	while (next_in_list(&names, ',', name, sizeof(name)))
		if (path_list_find(envset_find(envp, "PATH"), name, out,
			PROGRAM_MAX))
			return true;
	return false;
}

static bool
has_needed_file(enum kernel_language l)
{
	const char *needs = LANGUAGES[l].needs;
	char path[64];

	if (needs == NULL)
		return true;
	while (next_in_list(&needs, ',', path, sizeof(path)))
		if (access(path, F_OK) == 0)
			return true;
	return false;
}

bool
kernel_available(enum kernel_language l)
{
	int64_t seq;
	auto_free char **envp = envset_envp(&seq);
	auto_free char *program = xmalloc(PROGRAM_MAX);

	return find_program(l, envp, program) && has_needed_file(l);
}

/* ---- the process */

static int
make_pipes(struct kernel *k, int ends[2], struct err *e)
{
	int pair[2];

	for (int i = 0; i < 2; i++) {
		if (pipe2(pair, O_CLOEXEC) < 0)
			return err_errno(e, "pipe");
		k->out[i] = pair[0];
		ends[i] = pair[1];
		fcntl(pair[0], F_SETFL, O_NONBLOCK);
	}
	return 0;
}

static int
make_channel(struct kernel *k, int *end, struct err *e)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
		return err_errno(e, "socketpair");
	k->channel = pair[0];
	*end = pair[1];
	fcntl(pair[0], F_SETFL, O_NONBLOCK);
	return 0;
}

static int
spawn_kernel(struct kernel *k, const struct kernel_place *at, struct err *e)
{
	const struct language *l = &LANGUAGES[at->language];
	int64_t seq;
	auto_free char **envp = envset_envp_with(at->env, &seq);
	auto_free char *program = xmalloc(PROGRAM_MAX);
	auto_fd int text = -1, channel = -1;
	const char *argv[ARRAY_LEN(l->argv) + 2] = { program };
	int ends[2] = { -1, -1 }, rc = -1;

	memcpy(argv + 1, l->argv, sizeof(l->argv));
	if (!find_program(at->language, envp, program))
		return err_set(e, ERR_UNSUPPORTED, l->missing,
		    "%s is not installed in this sandbox", l->name);
	text = spawn_text(l->text, (size_t)(l->end - l->text), e);
	if (text >= 0 && make_channel(k, &channel, e) == 0 &&
	    make_pipes(k, ends, e) == 0)
		rc = spawn_start(&(struct spawn){ .argv = argv,
				     .envp = envp,
				     .cwd = at->cwd,
				     .cwd_must = true,
				     .in = text,
				     .out = ends[0],
				     .err = ends[1],
				     .more = channel },
		    &k->child, e);
	mem_close_fd(&ends[0]);
	mem_close_fd(&ends[1]);
	return rc;
}

/* ---- waiting for `ready` */

struct greeting {
	struct kernel_talk talk;
	struct buf words; /* its output, for the error if the start fails */
};

static void
collect_output(void *ctx, int which, const char *data, size_t len)
{
	struct greeting *g = ctx;
	size_t room = WORDS_MAX - g->words.len;

	(void)which;
	buf_add(&g->words, data, len < room ? len : room);
}

static bool
read_greeting(void *ctx, const char *data, size_t len)
{
	struct greeting *g = ctx;

	return kernel_talk_read(&g->talk, data, len);
}

/* Sets an error with the last line of output, which names the reason. */
static int
explain_failure(struct kernel *k, const struct language *l,
    const struct greeting *g, struct err *e)
{
	size_t len = g->words.len;
	const char *text = g->words.data, *line;
	struct pollfd f = { k->child.pidfd, POLLIN, 0 };
	char how[SPAWN_HOW_MAX];

	while (len > 0 && text[len - 1] == '\n')
		len--;
	line = len > 0 ? memrchr(text, '\n', len) : NULL;
	line = line != NULL ? line + 1 : text;
	/* a dying kernel closes the channel a little before it ends */
	if (poll(&f, 1, DYING_MS) == 0)
		str_copy(how, SPAWN_HOW_MAX, "it closed its channel");
	else
		spawn_describe(spawn_wait(&k->child), how);
	return err_set(e, ERR_INTERNAL, CODE_CODE_EXECUTION_ERROR,
	    "The %s kernel did not start, %s%s%.*s", l->name, how,
	    len > 0 ? ": " : "", len > 0 ? (int)(text + len - line) : 0,
	    len > 0 ? line : "");
}

static int
await_greeting(struct kernel *k, const struct language *l, struct greeting *g,
    struct err *e)
{
	struct pump p = {
		.out = { k->out[0], k->out[1] },
		.opened = { true, true },
		.status_fd = k->channel,
		.status_must = true,
		.script_fd = -1,
		.wake_fd = -1,
		.pidfd = k->child.pidfd,
		.deadline_ms = clock_ms() + START_MS,
		.output = collect_output,
		.status = read_greeting,
		.output_ctx = g,
		.status_ctx = g,
	};
	enum pump_end how = pump_run(&p);

	if (how == PUMP_EXITED)
		pump_catch_up(&p);
	k->out[0] = p.out[0];
	k->out[1] = p.out[1];
	if (how == PUMP_TIMEOUT)
		return err_set(e, ERR_UNAVAILABLE, CODE_INTERPRETER_NOT_READY,
		    "The %s kernel is not ready", l->name);
	if (how == PUMP_TOLD && g->talk.word == KERNEL_WORD_MISSING)
		return err_set(e, ERR_UNSUPPORTED, l->missing,
		    "%s is not installed in this sandbox", l->name);
	if (how != PUMP_TOLD || g->talk.word != KERNEL_WORD_READY)
		return explain_failure(k, l, g, e);
	return 0;
}

static void
no_result(void *ctx)
{
	(void)ctx;
}

static void
no_piece(void *ctx, const char *piece, size_t len, bool last)
{
	(void)ctx;
	(void)piece;
	(void)len;
	(void)last;
}

int
kernel_start(struct kernel *k, const struct kernel_place *at, struct err *e)
{
	struct greeting g = { .talk = { .begin = no_result,
				  .result = no_piece } };
	int rc;

	*k = (struct kernel){ .child = { -1, -1 },
		.channel = -1,
		.out = { -1, -1 } };
	rc = spawn_kernel(k, at, e);
	if (rc == 0)
		rc = await_greeting(k, &LANGUAGES[at->language], &g, e);
	if (rc < 0 && k->child.pid > 0) {
		(void)proctree_kill(k->child.pid, NULL);
		(void)spawn_wait(&k->child);
	}
	if (rc < 0) {
		mem_close_fd(&k->channel);
		mem_close_fd(&k->out[0]);
		mem_close_fd(&k->out[1]);
	}
	kernel_talk_close(&g.talk);
	buf_free(&g.words);
	return rc;
}
