/* serve.c: runs the threads that serve the wrapper's calls. */
#include "agent/base/serve.h"

#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>

#include "web/server.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STACK_BYTES = 1024 * 1024 }; /* sanitizers enlarge stack frames */
#else
enum { STACK_BYTES = 128 * 1024 };
#endif

static int data_fd;
static serve_fn *handler;
static atomic_int threads, waiting, in_hand;
static _Thread_local bool alone;

int
serve_thread(void *(*run)(void *arg), void *arg)
{
	pthread_attr_t a;
	pthread_t t;
	int rc;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, STACK_BYTES);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	rc = pthread_create(&t, &a, run, arg);
	pthread_attr_destroy(&a);
	errno = rc;
	return rc == 0 ? 0 : -1;
}

void
serve_begin(void)
{
	atomic_fetch_add(&in_hand, 1);
}

void
serve_end(void)
{
	atomic_fetch_sub(&in_hand, 1);
}

int
serve_in_hand(void)
{
	return atomic_load(&in_hand);
}

static void *serve_calls(void *arg);

static bool
add_thread(void)
{
	if (atomic_fetch_add(&threads, 1) < SERVE_THREADS_MAX &&
	    serve_thread(serve_calls, NULL) == 0)
		return true;
	atomic_fetch_sub(&threads, 1);
	return false;
}

bool
serve_is_alone(void)
{
	return alone;
}

static void *
serve_calls(void *arg)
{
	struct server *s = server_new(data_fd);

	(void)arg;
	do {
		struct call c;
		int rc, others;

		atomic_fetch_add(&waiting, 1);
		rc = server_accept(s, &c);
		others = atomic_fetch_sub(&waiting, 1) - 1;
		if (rc < 0) {
			/* for example no descriptors left: avoid a busy loop */
			nanosleep(&(struct timespec){ .tv_nsec = 10000000 },
			    NULL);
			continue;
		}
		alone = others < 1 && !add_thread();
		serve_begin();
		handler(&c);
		server_finish(s, &c);
		serve_end();
	} while (atomic_load(&waiting) < SERVE_THREADS_KEPT);
	server_free(s);
	atomic_fetch_sub(&threads, 1);
	malloc_trim(0);
	return NULL;
}

int
serve_start(int listen_fd, serve_fn *handle, struct err *e)
{
	if (server_init(e) < 0)
		return -1;
	/* server_init() lets libfcgi install its own handlers */
	signal(SIGTERM, SIG_DFL);
	signal(SIGUSR1, SIG_DFL);
	signal(SIGPIPE, SIG_IGN);
	data_fd = listen_fd;
	handler = handle;
	for (int i = 0; i < SERVE_THREADS_FIRST; i++)
		(void)add_thread();
	if (atomic_load(&threads) == 0)
		return err_errno(e, "cannot start a thread");
	return 0;
}
