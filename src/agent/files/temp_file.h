/*
 * temp_file.h: writes a file atomically: a temporary file beside it, then
 * rename.
 *
 * Missing parent directories are made.  If the path is a symbolic link, its
 * target is replaced, not the link.  Readers never see half a file, and the old
 * file stays until the rename.  A device or a fifo is written to directly, and
 * so is a file in a directory that the tenant cannot write to, unless `beside`
 * is set.
 */
#ifndef SANDLEASE_AGENT_FILES_TEMP_FILE_H
#define SANDLEASE_AGENT_FILES_TEMP_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "agent/files/files.h"
#include "common/err.h"

struct temp_file {
	int fd;
	bool beside;   /* set by the caller: fail instead of writing directly */
	bool replaces; /* the path exists */
	mode_t mode;
	char path[FILES_PATH_MAX]; /* the final path, links followed */
	char temp[FILES_TEMP_MAX]; /* "" when there is no temporary file */
};

#define auto_temp_file __attribute__((cleanup(temp_file_drop)))
#define TEMP_FILE_NONE                                                         \
	{                                                                      \
		.fd = -1                                                       \
	}

/* Opens a temporary file.  `mode` -1: keep the mode of an existing file. */
int temp_file_open(struct temp_file *d, const char *path, int mode,
    struct err *e) MUST_CHECK;

int temp_file_write(struct temp_file *d, const char *data, size_t len,
    struct err *e) MUST_CHECK;

/* Renames the temporary file to its path.  `only_new`: EEXIST if it exists. */
int temp_file_commit(struct temp_file *d, bool only_new, struct err *e)
    MUST_CHECK;

/* Whether `name` is that of a temporary file that will replace a file. */
bool temp_file_replaces(const char *name);

/* Removes the temporary file if it was not committed. */
void temp_file_drop(struct temp_file *d);

/* The source of the bytes: memory, or a descriptor when fd >= 0. */
struct temp_file_source {
	const char *data;
	size_t len;
	int fd; /* borrowed; read from its current offset */
};

/* Opens, writes and commits; `mode` as in temp_file_open(). */
int temp_file_write_file(const char *path, const struct temp_file_source *from,
    int mode, struct err *e) MUST_CHECK;

#endif
