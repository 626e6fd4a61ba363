/*
 * file.h: reads and writes small files whole, and lists directories.
 *
 * Used for the provider's own records and the kernel's control files.  No
 * function follows a symlink in the last part of a path, and file_read() does
 * not block on a FIFO.
 */
#ifndef SANDLEASE_PROVIDER_HOST_FILE_H
#define SANDLEASE_PROVIDER_HOST_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "common/err.h"
#include "common/str.h"

/*
 * Appends up to `max` bytes of a file to *out.  A missing one is no error:
 * *found says so.  `dir` may be AT_FDCWD.
 */
int file_read(int dir, const char *name, size_t max, bool *found,
    struct buf *out, struct err *e) MUST_CHECK;

/*
 * Replaces a file by an atomic rename: a reader sees the old text or the new
 * one, never a part.
 */
int file_write(int dir, const char *name, const char *text, struct err *e)
    MUST_CHECK;

/*
 * Appends a line to a file of which only the last line counts.  Faster than
 * file_write(), which needs a new inode each time: ext4 searches for a free
 * inode past all those that were freed in the last seconds.
 */
int file_note(int dir, const char *name, const char *text, struct err *e)
    MUST_CHECK;
/* Appends the last complete line of a file to *out, if there is one. */
int file_last_note(int dir, const char *name, size_t max, struct buf *out,
    struct err *e) MUST_CHECK;

/* Writes one value into a control file, which must exist. */
int file_put(const char *path, const char *text, struct err *e) MUST_CHECK;

/* Opens a directory, made if it does not exist.  Returns the descriptor. */
int file_dir(int at, const char *name, mode_t mode, struct err *e) MUST_CHECK;

/* Opens a directory; -1 with *found false when it does not exist. */
int file_opendir(int at, const char *name, bool *found, struct err *e)
    MUST_CHECK;

/*
 * Lists the names in a directory, without "." and "..", as malloc'ed strings
 * in a malloc'ed array that ends with NULL.  A missing directory has none.
 */
int file_names(int at, const char *name, char ***out, struct err *e) MUST_CHECK;
void file_names_free(char ***names);

#define auto_names __attribute__((cleanup(file_names_free)))

#endif
