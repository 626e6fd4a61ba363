/*
 * sanitizers.c: a build with sanitizers, inside a sandbox.
 *
 * An environment that could carry their options does not get there.  Empty in
 * every other build.
 */
#ifdef __SANITIZE_THREAD__
#include <pthread.h>
#include <time.h>

const char *__tsan_default_options(void);

/* Whoever has a race dies of it, so that a test notices. */
const char *
__tsan_default_options(void)
{
	return "halt_on_error=1:exitcode=66";
}

/* GCC 12's does not know this one, and takes the unlock for a mistake. */
int
pthread_mutex_clocklock(pthread_mutex_t *m, clockid_t clock,
    const struct timespec *until)
{
	struct timespec now, at;

	clock_gettime(clock, &now);
	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_sec += until->tv_sec - now.tv_sec;
	at.tv_nsec += until->tv_nsec - now.tv_nsec;
	if (at.tv_nsec < 0) {
		at.tv_nsec += 1000000000;
		at.tv_sec--;
	} else if (at.tv_nsec >= 1000000000) {
		at.tv_nsec -= 1000000000;
		at.tv_sec++;
	}
	return pthread_mutex_timedlock(m, &at);
}
#else
typedef int sanitizers_are_off; /* a file holds something */
#endif
