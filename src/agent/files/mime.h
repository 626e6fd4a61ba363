/*
 * mime.h: what a file is, by its name and else by its first bytes.
 */
#ifndef SANDLEASE_AGENT_FILES_MIME_H
#define SANDLEASE_AGENT_FILES_MIME_H

#include <stdbool.h>
#include <stddef.h>

/* Never NULL, without parameters; `data` are the file's first bytes. */
const char *mime_of(const char *path, const char *data, size_t len);

/* The same of an open file, which is read where it begins, not where it is. */
const char *mime_of_fd(const char *path, int fd);

/* True for types whose content is given as text rather than base64. */
bool mime_is_text(const char *type);

#endif
