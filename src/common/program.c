/* program.c: how every program of ours begins. */
#include "common/program.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static int
find_user(const struct conf *conf, uid_t *uid, gid_t *gid, struct err *e)
{
	const struct passwd *pw = getpwnam(conf->user);

	if (pw == NULL)
		return err_set(e, ERR_INVALID, "bad_setting",
		    "started by root, and setting user names nobody: %.100s",
		    conf->user);
	if (pw->pw_uid == 0)
		return err_set(e, ERR_INVALID, "bad_setting",
		    "setting user must not be root");
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
	return 0;
}

int
program_drop_root(const struct conf *conf, struct err *e)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	if (find_user(conf, &uid, &gid, e) < 0)
		return -1;
	if (initgroups(conf->user, gid) < 0 || setresgid(gid, gid, gid) < 0 ||
	    setresuid(uid, uid, uid) < 0)
		return err_errno(e, "becoming %.100s", conf->user);
	return 0;
}

int
program_give_file(const struct conf *conf, const char *path, struct err *e)
{
	uid_t uid;
	gid_t gid;

	if (geteuid() != 0)
		return 0;
	if (find_user(conf, &uid, &gid, e) < 0)
		return -1;
	if (lchown(path, uid, gid) < 0)
		return err_errno(e, "%.150s", path);
	return 0;
}

int
program_fail(const char *program, const struct err *e)
{
	fprintf(stderr, "%s: %s\n", program, e->msg);
	return EXIT_FAILURE;
}
