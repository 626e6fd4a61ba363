/* gone.c: an index of tombstones. */
#include "provider/box/gone.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"

static const char DIR_NAME[] = ".gone";

void
gone_add(const struct box *b)
{
	char to[sizeof("../.gone/") + BOX_NAME_MAX + 24];

	snprintf(to, sizeof(to), "../%s/%" PRId64 ".%s", DIR_NAME,
	    (int64_t)time(NULL), b->name);
	/* a new link needs no new inode, of which ext4 is slow to find one */
	if (linkat(b->dir, "incarnation", b->dir, to, 0) == 0 ||
	    errno != ENOENT)
		return;
	mkdirat(b->dir, "../.gone", 0700);
	(void)!linkat(b->dir, "incarnation", b->dir, to, 0);
}

/* Splits SECONDS.NAME; NULL when the entry has another form. */
static const char *
parse_entry(const char *entry, int64_t *seconds)
{
	char number[24];
	const char *dot = strchr(entry, '.');

	if (dot == NULL || (size_t)(dot - entry) >= sizeof(number) ||
	    !box_is_name(dot + 1))
		return NULL;
	memcpy(number, entry, (size_t)(dot - entry));
	number[dot - entry] = '\0';
	return str_to_int(number, 0, INT64_MAX / 2, seconds) ? dot + 1 : NULL;
}

static bool
is_old(int64_t seconds)
{
	return seconds + BOX_TOMBSTONE_SECONDS <= (int64_t)time(NULL);
}

static int
compare_names(const void *a, const void *b)
{
	const char *const *x = a, *const *y = b;

	return strcmp(*x, *y);
}

static int
read_entries(const struct provider *p, char ***out, struct err *e)
{
	auto_free char *path =
	    xasprintf("%s/box/%s", p->conf->state_dir, DIR_NAME);

	return file_names(AT_FDCWD, path, out, e);
}

void
gone_list_free(struct gone_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->name[i]);
	free(l->name);
}

int
gone_list(const struct provider *p, struct gone_list *out, struct err *e)
{
	auto_names char **entries = NULL;
	size_t n = 0;

	*out = (struct gone_list){ 0 };
	if (read_entries(p, &entries, e) < 0)
		return -1;
	while (entries[n] != NULL)
		n++;
	out->name = xcalloc(n + 1, sizeof(*out->name));
	for (size_t i = 0; i < n; i++) {
		int64_t seconds;
		const char *name = parse_entry(entries[i], &seconds);

		if (name != NULL)
			out->name[out->count++] = xstrdup(name);
	}
	qsort(out->name, out->count, sizeof(*out->name), compare_names);
	return 0;
}

bool
gone_has(const struct gone_list *l, const char *name)
{
	return bsearch(&name, l->name, l->count, sizeof(*l->name),
		   compare_names) != NULL;
}

int
gone_bury(const struct provider *p, int64_t deadline_ms, struct err *e)
{
	auto_names char **entries = NULL;
	auto_free char *dir =
	    xasprintf("%s/box/%s", p->conf->state_dir, DIR_NAME);

	if (read_entries(p, &entries, e) < 0)
		return -1;
	for (char **at = entries; *at != NULL && clock_left_ms(deadline_ms) > 0;
	     at++) {
		auto_free char *path = xasprintf("%s/%s", dir, *at);
		int64_t seconds;
		const char *name = parse_entry(*at, &seconds);

		if (name == NULL || !is_old(seconds))
			continue;
		if (box_bury(p, name, e) == 0)
			unlink(path);
		else if (e->kind != ERR_BUSY && e->kind != ERR_CONFLICT)
			return -1;
	}
	return 0;
}
