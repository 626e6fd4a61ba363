/*
 * command_name.h: matches typed words with names of commands.
 *
 * Both command lines use it.  A name has one word ("ls") or two: "ports add" is
 * a command of the group "ports".
 */
#ifndef SANDLEASE_COMMON_COMMAND_NAME_H
#define SANDLEASE_COMMON_COMMAND_NAME_H

#include <stdbool.h>

/* How many of `words` belong to `name`; 0 when they do not begin with it. */
int command_name_match(const char *name, int count, char *const *words);

/* True for a name of two words whose first is `group`. */
bool command_name_in(const char *name, const char *group);

#endif
