/* unit.h: the headers of every unit test; cmocka needs these before its own. */
#ifndef SANDLEASE_UNIT_H
#define SANDLEASE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/code.h"

/* wait: a limit against hanging, not a measured time */
enum { PATIENCE_MS = 120 * 1000 };

/* Compares two codes; a failure shows the words of both. */
#define assert_code(is, wanted)                                                \
	do {                                                                   \
		if ((is) != (wanted))                                          \
			fail_msg("%s is not %s", code_word(is),                \
			    code_word(wanted));                                \
	} while (0)

#endif
