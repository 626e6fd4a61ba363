/* unit.h: what every unit test includes; cmocka wants these before its own. */
#ifndef SANDLEASE_UNIT_H
#define SANDLEASE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/code.h"

/* wait: against hanging, never a measure */
enum { PATIENCE_MS = 120 * 1000 };

/* Two codes are the same; the words of both are shown if not. */
#define assert_code(is, wanted)                                                \
	do {                                                                   \
		if ((is) != (wanted))                                          \
			fail_msg("%s is not %s", code_word(is),                \
			    code_word(wanted));                                \
	} while (0)

#endif
