/*
 * story.h: prints a session's events as sentences.
 */
#ifndef SANDLEASE_CLI_STORY_H
#define SANDLEASE_CLI_STORY_H

#include <stdio.h>

#include "common/json.h"

/*
 * Prints one event of a session's history as a line with the local time; prints
 * nothing for steps that only an operator needs.  The output of a setup
 * follows, indented.
 */
void story_print(const json_t *event, FILE *to);

/* The same for a background process: its command, and how it ended. */
void story_process(const json_t *process, FILE *to);

#endif
