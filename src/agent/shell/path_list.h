/*
 * path_list.h: the programs that a shell of this session finds.
 */
#ifndef SANDLEASE_AGENT_SHELL_PATH_LIST_H
#define SANDLEASE_AGENT_SHELL_PATH_LIST_H

#include <stdbool.h>
#include <stddef.h>

enum {
	PATH_LIST_MAX = 16384,      /* names */
	PATH_LIST_LOOKS_MAX = 65536 /* entries of directories, all in all */
};

struct path_list {
	char **name; /* sorted, each once, UTF-8 */
	size_t count;
};

#define auto_path_list __attribute__((cleanup(path_list_free)))

/* Executable files in the directories of a PATH, which are absolute. */
void path_list_read(const char *path, struct path_list *out);

/*
 * Where the first program of that name is, or of that absolute path; false
 * when there is none.
 */
bool path_list_find(const char *path, const char *name, char *out, size_t size);

void path_list_free(struct path_list *l);

#endif
