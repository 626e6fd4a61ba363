/*
 * pack.h: making archives and taking them apart.
 *
 * Programs of their own, `sandlease-agent pack` and `unpack`, because an
 * archive may be anybody's and libarchive changes directory and umask under
 * way: neither is for the process that serves the session.
 */
#ifndef SANDLEASE_AGENT_PACK_H
#define SANDLEASE_AGENT_PACK_H

#include "common/json.h"

/*
 * `pack FORMAT NAME`: what is at NAME in this directory as an archive on
 * stdout, `.` for all of it.  Complete only if the status is 0; else stderr
 * says {entry, message, errno}.
 */
int pack_main(const char *format, const char *name);

/*
 * `unpack`: the archive on stdin into this directory and nowhere else.  Says
 * on stdout {entries, bytes, skipped}, and on failure {entry, message, errno}
 * too; errno is 0 when the archive is to blame.
 */
int unpack_main(void);

/* `backup FORMAT`: as pack, of this directory without what stdin names (omit.h). */
int backup_main(const char *format);

/* `restore`: as unpack, with the modes and the number of entries as they were. */
int restore_main(void);

/* What went wrong; entry: NULL when it is not known with which. */
struct pack_fault {
	const char *entry, *message;
	int error;
};

/* {entry, message, errno} of it. */
void pack_blame(json_t *said, const struct pack_fault *f);

#endif
