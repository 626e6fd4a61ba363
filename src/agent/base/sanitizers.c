/*
 * sanitizers.c: a build with sanitizers, inside a sandbox.
 *
 * An environment that could carry their options does not get there.  Empty in
 * every other build.
 */
#ifdef __SANITIZE_THREAD__
const char *__tsan_default_options(void);

/* Whoever has a race dies of it, so that a test notices. */
const char *
__tsan_default_options(void)
{
	return "halt_on_error=1:exitcode=66";
}
#else
typedef int sanitizers_are_off; /* a file holds something */
#endif
