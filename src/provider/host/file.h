/*
 * file.h: small files, read and written whole, below a directory.
 *
 * For our own records and the kernel's control files; nothing here ever
 * follows a symlink or blocks on a FIFO.
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

/* Replaces a file at once: whoever reads sees the old text or the new. */
int file_write(int dir, const char *name, const char *text, struct err *e)
    MUST_CHECK;

/*
 * Adds a line to a file of them, of which only the last counts.  A file that
 * is replaced costs an inode each time, and ext4 looks for a free one past
 * all that were freed in the last seconds.
 */
int file_note(int dir, const char *name, const char *text, struct err *e)
    MUST_CHECK;
/* Appends the last whole line to *out: nothing when there is none. */
int file_last_note(int dir, const char *name, size_t max, struct buf *out,
    struct err *e) MUST_CHECK;

/* Writes one value into a control file that must exist. */
int file_put(const char *path, const char *text, struct err *e) MUST_CHECK;

/* Makes a directory if need be and opens it.  Returns the descriptor. */
int file_dir(int at, const char *name, mode_t mode, struct err *e) MUST_CHECK;

/* Opens a directory; -1 with *found false when there is none. */
int file_opendir(int at, const char *name, bool *found, struct err *e)
    MUST_CHECK;

/*
 * The names in a directory, without "." and "..", as malloc'ed strings in a
 * malloc'ed array that ends with NULL.  A missing directory has none.
 */
int file_names(int at, const char *name, char ***out, struct err *e) MUST_CHECK;
void file_names_free(char ***names);

#define auto_names __attribute__((cleanup(file_names_free)))

#endif
