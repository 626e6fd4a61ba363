/*
 * path_list.h: lists and finds the programs in the directories of a PATH.
 */
#ifndef SANDLEASE_AGENT_SHELL_PATH_LIST_H
#define SANDLEASE_AGENT_SHELL_PATH_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PATH_LIST_MAX = 16384,      /* names */
	PATH_LIST_LOOKS_MAX = 65536 /* entries read, in all directories */
};

struct path_list {
	char **name; /* sorted, each once, UTF-8 */
	size_t count;
};

#define auto_path_list __attribute__((cleanup(path_list_free)))

/* Lists the executable files.  Relative directories of PATH are skipped. */
void path_list_read(const char *path, struct path_list *out);

/*
 * Writes the path of the first program with that name, or the name itself if
 * it is the absolute path of a program.  False when there is none.
 */
bool path_list_find(const char *path, const char *name, char *out, size_t size);

void path_list_free(struct path_list *l);

#endif
