/* rawpath.c: finds the file that a URL names. */
#include "agent/api/rawpath.h"

#include <string.h>

#include "agent/api/request.h"

int
rawpath_of(struct call *c, const char *operation, char out[FILES_PATH_MAX],
    struct err *e)
{
	const char *path = strchr(c->path + 1, '/');

	request_context(c,
	    json_pack("{s:o, s:s}", "path", json_bytes(path, strlen(path)),
		"operation", operation));
	return files_resolve("/", path, out, e);
}
