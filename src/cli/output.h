/*
 * output.h: bytes to where they belong, all of them.
 */
#ifndef SANDLEASE_CLI_OUTPUT_H
#define SANDLEASE_CLI_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

enum { OUTPUT_UNREAD = 128 + SIGPIPE }; /* as a shell would say it */

/* False when it cannot be written: nobody reads it, or the disk is full. */
bool output_bytes(int fd, const char *data, size_t len);

/* The same with what base64 stands for; what is not base64 is left out. */
bool output_base64(int fd, const char *text);

/* True when standard output has failed, or nobody reads it any more. */
bool output_is_unread(void);

#endif
