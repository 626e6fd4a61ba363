/*
 * sanitizers.c: sets the options of the thread sanitizer.
 *
 * They are compiled in, because the host's environment variables do not reach
 * the sandbox.  Empty in a build without that sanitizer.
 */
#ifdef __SANITIZE_THREAD__
const char *__tsan_default_options(void);

/* A process with a data race exits, so that a test notices. */
const char *
__tsan_default_options(void)
{
	return "halt_on_error=1:exitcode=66";
}
#else
typedef int sanitizers_are_off; /* C forbids an empty file */
#endif
