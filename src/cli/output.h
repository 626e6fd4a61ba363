/*
 * output.h: writes all bytes to a descriptor, and notices a closed pipe.
 */
#ifndef SANDLEASE_CLI_OUTPUT_H
#define SANDLEASE_CLI_OUTPUT_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

/* The exit code after a closed pipe; a shell reports SIGPIPE so. */
enum { OUTPUT_UNREAD = 128 + SIGPIPE };

/* False if write() fails: the pipe is closed, or the disk is full. */
bool output_bytes(int fd, const char *data, size_t len);

/* Decodes base64 and writes it; text that is not base64 is left out. */
bool output_base64(int fd, const char *text);

/* True if standard output has failed, or the reader of its pipe is gone. */
bool output_is_unread(void);

#endif
