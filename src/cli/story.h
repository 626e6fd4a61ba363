/*
 * story.h: what happened to a session, in sentences.
 */
#ifndef SANDLEASE_CLI_STORY_H
#define SANDLEASE_CLI_STORY_H

#include <stdio.h>

#include "common/json.h"

/*
 * One event of a session's history as a line with the local time; nothing for
 * steps that only an operator needs.  What a setup printed follows, indented.
 */
void story_print(const json_t *event, FILE *to);

/* The same for a background process: what ran, and how it ended. */
void story_process(const json_t *process, FILE *to);

#endif
