/* path_list.c: lists and finds the programs in the directories of a PATH. */
#include "agent/shell/path_list.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"

static bool
is_program(int dir, const char *name)
{
	struct stat st;

	return utf8_valid(name, strlen(name)) &&
	    fstatat(dir, name, &st, 0) == 0 && S_ISREG(st.st_mode) &&
	    faccessat(dir, name, X_OK, 0) == 0;
}

static void
read_dir(const char *path, size_t *looks, struct path_list *out)
{
	enum { STEP = 256 };
	DIR *d = opendir(path);
	const struct dirent *entry;

	if (d == NULL)
		return;
	while (*looks < PATH_LIST_LOOKS_MAX && out->count < PATH_LIST_MAX &&
	    (entry = readdir(d)) != NULL) {
		(*looks)++;
		if (!is_program(dirfd(d), entry->d_name))
			continue;
		if (out->count % STEP == 0)
			out->name = xrealloc(out->name,
			    (out->count + STEP) * sizeof(out->name[0]));
		out->name[out->count++] = xstrdup(entry->d_name);
	}
	closedir(d);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void
path_list_read(const char *path, struct path_list *out)
{
	auto_free char *copy = xstrdup(path);
	char *rest = copy, *dir;
	size_t looks = 0, kept = 0;

	while ((dir = strsep(&rest, ":")) != NULL)
		if (dir[0] == '/')
			read_dir(dir, &looks, out);
	if (out->count > 0)
		qsort(out->name, out->count, sizeof(out->name[0]), compare);
	/* drop duplicates: two directories may have a program of one name */
	for (size_t i = 0; i < out->count; i++)
		if (kept > 0 && str_equal(out->name[i], out->name[kept - 1]))
			free(out->name[i]);
		else
			out->name[kept++] = out->name[i];
	out->count = kept;
}

bool
path_list_find(const char *path, const char *name, char *out, size_t size)
{
	auto_free char *copy = xstrdup(path);
	char *rest = copy, *dir;

	if (name[0] == '/')
		return str_copy(out, size, name) && is_program(AT_FDCWD, out);
	while (strchr(name, '/') == NULL && (dir = strsep(&rest, ":")) != NULL)
		if (dir[0] == '/' &&
		    snprintf(out, size, "%s/%s", dir, name) < (int)size &&
		    is_program(AT_FDCWD, out))
			return true;
	return false;
}

void
path_list_free(struct path_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->name[i]);
	free(l->name);
}
