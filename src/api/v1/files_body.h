/*
 * files_body.h: checks the files in the body of a create.
 */
#ifndef SANDLEASE_API_V1_FILES_BODY_H
#define SANDLEASE_API_V1_FILES_BODY_H

#include "common/err.h"
#include "common/json.h"

enum { FILES_SECRET = 1 }; /* a file may be `secret` */

/*
 * Checks `files` (may be NULL) as far as that is possible without a sandbox,
 * and makes each mode a number.  The error is a 400 that names the wrong
 * member, such as files[0].path.  *in_root is the number, from 1, of the first
 * file that needs a class with a writable root; 0: none does.
 */
int files_body_check(const json_t *files, unsigned flags, int64_t *in_root,
    struct err *e) MUST_CHECK;

#endif
