/* clone.c: the files of a snapshot as those of a session. */
#include "agent/clone.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/copy.h"
#include "common/json.h"
#include "common/mem.h"

/* A tenant may have removed what is a mount point inside; then it is empty. */
static int
clone_part(const char *from, const char *to, struct err *e)
{
	struct stat st;

	if (lstat(from, &st) < 0 && errno == ENOENT)
		return mkdir(to, 0700) < 0 ? err_errno(e, "%s", to) : 0;
	return copy_tree(from, to, e);
}

int
clone_main(int64_t seconds)
{
	static const struct {
		const char *from, *to;
	} PARTS[] = { { "/from/workspace", "/to/workspace" },
		{ "/from/home/user", "/to/home" } };
	auto_json json_t *said = json_object();
	auto_free char *text = NULL;
	struct err e = { 0 };
	int rc = 0;

	alarm((unsigned)seconds);
	umask(022);
	for (size_t i = 0; rc == 0 && i < ARRAY_LEN(PARTS); i++)
		rc = clone_part(PARTS[i].from, PARTS[i].to, &e);
	if (rc < 0) {
		json_object_set_new(said, "errno",
		    json_integer(e.kind == ERR_NO_SPACE ? ENOSPC : EIO));
		json_object_set_new(said, "message", json_lossy(e.msg));
	}
	text = json_text(said);
	fputs(text, stdout);
	fflush(stdout);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
