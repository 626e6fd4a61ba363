/* path_list.c: the programs that a shell of this session finds. */
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
add(struct path_list *l, const char *name)
{
	enum { STEP = 256 };

	if (l->count % STEP == 0)
		l->name =
		    xrealloc(l->name, (l->count + STEP) * sizeof(l->name[0]));
	l->name[l->count++] = xstrdup(name);
}

static void
read_dir(const char *path, size_t *looks, struct path_list *out)
{
	DIR *d = opendir(path);
	const struct dirent *entry;

	if (d == NULL)
		return;
	while (*looks < PATH_LIST_LOOKS_MAX && out->count < PATH_LIST_MAX &&
	    (entry = readdir(d)) != NULL) {
		(*looks)++;
		if (is_program(dirfd(d), entry->d_name))
			add(out, entry->d_name);
	}
	closedir(d);
}

static int
compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void
keep_one_of_each(struct path_list *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++)
		if (kept > 0 && str_equal(l->name[i], l->name[kept - 1]))
			free(l->name[i]);
		else
			l->name[kept++] = l->name[i];
	l->count = kept;
}

void
path_list_read(const char *path, struct path_list *out)
{
	auto_free char *copy = xstrdup(path);
	char *rest = copy, *dir;
	size_t looks = 0;

	while ((dir = strsep(&rest, ":")) != NULL)
		if (dir[0] == '/')
			read_dir(dir, &looks, out);
	if (out->count > 0)
		qsort(out->name, out->count, sizeof(out->name[0]), compare);
	keep_one_of_each(out);
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
