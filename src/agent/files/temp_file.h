/*
 * temp_file.h: a file is written beside its place and takes it when it is whole.
 *
 * The parents are made; a link's target is written, not the link.  Nobody sees
 * half a file, and what was there stays until the end.  A device or a fifo is
 * written to as it is, and so is a file in a directory that is not ours,
 * unless `beside` says otherwise.
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
	bool beside; /* the caller's: what cannot be replaced stays as it is */
	bool replaces; /* something is there already */
	mode_t mode;
	char path[FILES_PATH_MAX]; /* its place, links followed */
	char temp[FILES_TEMP_MAX]; /* "" when there is no file to drop */
};

#define auto_temp_file __attribute__((cleanup(temp_file_drop)))
#define DRAFT_NONE                                                             \
	{                                                                      \
		.fd = -1                                                       \
	}

/* Begins one; an existing file's mode stays unless `mode` is not -1. */
int temp_file_open(struct temp_file *d, const char *path, int mode,
    struct err *e) MUST_CHECK;

int temp_file_write(struct temp_file *d, const char *data, size_t len,
    struct err *e) MUST_CHECK;

/* Puts it into its place; `only_new`: unless somebody is there (EEXIST). */
int temp_file_commit(struct temp_file *d, bool only_new, struct err *e)
    MUST_CHECK;

/* Whether a file of that name is that of a temporary file which will replace another. */
bool temp_file_replaces(const char *name);

/* Leaves nothing behind of what was not committed. */
void temp_file_drop(struct temp_file *d);

/* Where the bytes come from: memory, or a descriptor when fd >= 0. */
struct temp_file_source {
	const char *data;
	size_t len;
	int fd; /* borrowed; read from where it stands */
};

/* All of it at once; `mode` as in temp_file_open(). */
int temp_file_write_file(const char *path, const struct temp_file_source *from,
    int mode, struct err *e) MUST_CHECK;

#endif
