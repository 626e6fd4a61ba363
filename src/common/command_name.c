/* command_name.c: matches typed words with names of commands. */
#include "common/command_name.h"

#include <string.h>

#include "common/str.h"

int
command_name_match(const char *name, int count, char *const *words)
{
	const char *space = strchr(name, ' ');

	if (space == NULL)
		return count >= 1 && str_equal(words[0], name) ? 1 : 0;
	return count >= 2 && command_name_in(name, words[0]) &&
		str_equal(words[1], space + 1)
	    ? 2
	    : 0;
}

bool
command_name_in(const char *name, const char *group)
{
	return str_starts(name, group) && name[strlen(group)] == ' ';
}
