/* program.c: how every program of ours begins. */
#include "common/program.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int
program_drop_root(const struct conf *conf, struct err *e)
{
	const struct passwd *pw;

	if (geteuid() != 0)
		return 0;
	pw = getpwnam(conf->user);
	if (pw == NULL)
		return err_set(e, ERR_INVALID, "bad_setting",
		    "started by root, and setting user names nobody: %s",
		    conf->user);
	if (pw->pw_uid == 0)
		return err_set(e, ERR_INVALID, "bad_setting",
		    "setting user must not be root");
	if (initgroups(conf->user, pw->pw_gid) < 0 ||
	    setresgid(pw->pw_gid, pw->pw_gid, pw->pw_gid) < 0 ||
	    setresuid(pw->pw_uid, pw->pw_uid, pw->pw_uid) < 0)
		return err_errno(e, "becoming %s", conf->user);
	return 0;
}

int
program_fail(const char *program, const struct err *e)
{
	fprintf(stderr, "%s: %s\n", program, e->msg);
	return EXIT_FAILURE;
}
