/*
 * command_name.h: names of commands, which have one word or two.
 *
 * Both command lines look a command up by the words that were typed: "ls" is
 * one word, "ports add" a command of the group "ports".
 */
#ifndef SANDLEASE_COMMON_COMMAND_NAME_H
#define SANDLEASE_COMMON_COMMAND_NAME_H

#include <stdbool.h>

/* How many of `words` are this name; 0 when they do not begin with it. */
int command_name_match(const char *name, int count, char *const *words);

/* True for a name of two words whose first is `group`. */
bool command_name_in(const char *name, const char *group);

#endif
