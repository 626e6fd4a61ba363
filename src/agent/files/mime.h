/* mime.h: finds a file's MIME type by its name, or else by its first bytes. */
#ifndef SANDLEASE_AGENT_FILES_MIME_H
#define SANDLEASE_AGENT_FILES_MIME_H

#include <stdbool.h>
#include <stddef.h>

/* A type without parameters, never NULL; `data`: the file's first bytes. */
const char *mime_of(const char *path, const char *data, size_t len);

/* The same; reads the first bytes itself and leaves fd's offset alone. */
const char *mime_of_fd(const char *path, int fd);

/* True for types whose content is sent as text, not as base64. */
bool mime_is_text(const char *type);

#endif
