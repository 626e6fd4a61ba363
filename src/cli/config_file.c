/* config_file.c: reads the user's configuration file, and replaces it. */
#include "cli/config_file.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/config.h"
#include "cli/output.h"
#include "common/mem.h"
#include "common/token.h"

enum { FILE_MAX = 16 * 1024 };

char *
config_file_name(void)
{
	const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
	auto_free char *name = NULL;
	struct stat st;

	if (!str_empty(xdg))
		name = xasprintf("%s/sandlease", xdg);
	else if (!str_empty(home))
		name = xasprintf("%s/.config/sandlease", home);
	if (name != NULL && stat(name, &st) == 0 && S_ISDIR(st.st_mode))
		return xasprintf("%s/config", name);
	return TAKE(name);
}

int
config_file_read(const char *name, struct buf *text, struct stat *st,
    struct err *e)
{
	auto_fd int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n;

	buf_str(text, "");
	*st = (struct stat){ 0 };
	if (fd < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (fd < 0 || fstat(fd, st) < 0)
		return err_errno(e, "%.150s", name);
	n = read(fd, buf_room(text, FILE_MAX + 1), FILE_MAX + 1);
	if (n < 0)
		return err_errno(e, "%.150s", name);
	if (n > FILE_MAX)
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "%.150s is longer than %d bytes", name, FILE_MAX);
	text->len += (size_t)n;
	buf_str(text, "");
	return 0;
}

/* ---- one profile's lines */

/* True if a line is "[NAME]"; then *name and *len are the name. */
static bool
is_section(const char *line, size_t n, const char **name, size_t *len)
{
	while (n > 0 && strchr(" \t\r", line[n - 1]) != NULL)
		n--;
	while (n > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		n--;
	}
	if (n < 2 || line[0] != '[' || line[n - 1] != ']')
		return false;
	*name = line + 1;
	*len = n - 2;
	return true;
}

static bool
is_setting(const char *line)
{
	line += strspn(line, " \t");
	return str_starts(line, "url") || str_starts(line, "api_key");
}

static void
add_lines(struct buf *out, const char *url, const char *key)
{
	buf_fmt(out, "url = %s\napi_key = %s\n", url, key);
}

void
config_file_edit(const char *text, const char *profile, const char *url,
    const char *key, struct buf *out)
{
	bool top = str_equal(profile, CONFIG_DEFAULT), inside = top;
	bool written = false;

	buf_str(out, "");
	if (top && url != NULL) {
		add_lines(out, url, key);
		written = true;
	}
	for (const char *next; *text != '\0'; text = next) {
		size_t n = strcspn(text, "\n"), len;
		const char *name;

		next = text + n + (text[n] == '\n');
		if (is_section(text, n, &name, &len)) {
			inside = strlen(profile) == len &&
			    strncmp(name, profile, len) == 0;
			if (inside && (url == NULL || written))
				continue;
			buf_fmt(out, "%.*s\n", (int)n, text);
			if (inside)
				add_lines(out, url, key);
			written = written || inside;
		} else if (!inside || !is_setting(text)) {
			buf_fmt(out, "%.*s\n", (int)n, text);
		}
	}
	if (url == NULL || written)
		return;
	buf_fmt(out, "%s[%s]\n", out->len > 0 ? "\n" : "", profile);
	add_lines(out, url, key);
}

/* ---- writing */

/* Makes the directory of `file`: a new user has no ~/.config yet. */
static int
make_parent(const char *file, struct err *e)
{
	auto_free char *copy = xstrdup(file);
	const char *dir = dirname(copy);

	if (mkdir(dir, 0700) == 0 || errno == EEXIST)
		return 0;
	return err_errno(e, "%.150s", dir);
}

static int
replace_file(const char *file, const struct buf *text, struct err *e)
{
	auto_free char *real = realpath(file, NULL);
	const char *to = real != NULL ? real : file;
	auto_free char *temp = xasprintf("%s.XXXXXX", to);
	auto_fd int fd = mkostemp(temp, O_CLOEXEC); /* mode 0600 */

	if (fd < 0)
		return err_errno(e, "%.150s", to);
	if (output_bytes(fd, text->data, text->len) && fsync(fd) == 0 &&
	    rename(temp, to) == 0)
		return 0;
	err_errno(e, "%.150s", to);
	unlink(temp);
	return -1;
}

int
config_file_store(const char *profile, const char *url, const char *key,
    char **file, struct err *e)
{
	auto_buf struct buf before = { 0 }, after = { 0 };
	struct stat st;
	int rc;

	*file = config_file_name();
	if (*file == NULL)
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "your home directory is not known: set HOME");
	if (make_parent(*file, e) < 0 ||
	    config_file_read(*file, &before, &st, e) < 0)
		return -1;
	config_file_edit(before.data, profile, url, key, &after);
	rc = replace_file(*file, &after, e);
	token_wipe(before.data, before.len);
	token_wipe(after.data, after.len);
	return rc;
}
