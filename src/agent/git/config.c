/* config.c: writes the session's ~/.gitconfig with name and e-mail address. */
#include "agent/git/config.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/log.h"
#include "common/mem.h"

enum { MODE = 0644 };

/* Drops control characters: a line break would begin another key. */
static void
add_value(struct buf *to, const char *key, const char *value)
{
	buf_fmt(to, "\t%s = \"", key);
	for (; *value != '\0'; value++) {
		if (*value == '"' || *value == '\\')
			buf_str(to, "\\");
		if ((unsigned char)*value >= ' ' && *value != 0x7f)
			buf_add(to, value, 1);
	}
	buf_str(to, "\"\n");
}

void
gitconfig_text(const char *name, const char *email, struct buf *to)
{
	buf_str(to, "[user]\n");
	add_value(to, "name", name);
	add_value(to, "email", email);
}

void
gitconfig_write(const char *path, const char *name, const char *email)
{
	auto_buf struct buf text = { 0 };
	auto_fd int fd = -1;
	struct err e = { 0 };

	if (str_empty(name) || str_empty(email))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, MODE);
	if (fd < 0 && errno == EEXIST)
		return;
	gitconfig_text(name, email, &text);
	if (fd >= 0 && write(fd, text.data, text.len) == (ssize_t)text.len)
		return;
	err_errno(&e, "%s", path);
	log_err(LOG_WARN, "gitconfig", &e);
	if (fd >= 0)
		unlink(path); /* a truncated file breaks every git command */
}
