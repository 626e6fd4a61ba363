/* unit.h: what every unit test includes; cmocka wants these before its own. */
#ifndef SANDLEASE_UNIT_H
#define SANDLEASE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* wait: against hanging, never a measure */
enum { PATIENCE_MS = 120 * 1000 };

#endif
