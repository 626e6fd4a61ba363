/*
 * fuzz.h: one input, any bytes.
 *
 * A target is a file with fuzz_one().  `make check` replays what t/fuzz/corpus
 * has for it, also under sanitizers and valgrind; ./dev fuzz looks for more
 * with clang's libFuzzer.  What must hold is asserted: a broken promise ends
 * the program.
 */
#ifndef SANDLEASE_FUZZ_H
#define SANDLEASE_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "web/call.h"

/* The name is libFuzzer's. */
#define fuzz_one LLVMFuzzerTestOneInput
int fuzz_one(const uint8_t *data, size_t len);

#define PROMISE(condition)                                                     \
	do {                                                                   \
		if (!(condition))                                              \
			abort();                                               \
	} while (0)

/*
 * A request made of the input's bytes: lines of method, path, query and shell,
 * then the body.  The answer is thrown away.
 */
struct fuzz_call {
	struct call call;
	char method[16], path[CALL_PATH_MAX], query[512], shell[256];
	char length[24];
	const char *body; /* borrowed */
	size_t body_len;
};
void fuzz_call_make(struct fuzz_call *f, const uint8_t *data, size_t len);

#endif
