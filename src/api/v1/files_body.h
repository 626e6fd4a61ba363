/*
 * files_body.h: the files that a create brings along.
 */
#ifndef SANDLEASE_API_V1_FILES_BODY_H
#define SANDLEASE_API_V1_FILES_BODY_H

#include "common/err.h"
#include "common/json.h"

/*
 * Checks `files` (may be NULL) as far as that is possible before there is a
 * sandbox, and makes each mode a number.  400 names the member that is wrong,
 * such as files[0].path.  *in_root: the number, from 1, of the first that only a
 * class with a writable root has a place for, or 0.
 */
int files_body_check(const json_t *files, int64_t *in_root, struct err *e)
    MUST_CHECK;

#endif
