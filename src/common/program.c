/* program.c: raises limits, gives up root, reports a fatal error. */
#include "common/program.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/*
 * More than tenant code may have (src/agent/base/spawn.c).  A process cannot
 * send descriptors while its user has more of them in flight than the process's
 * own limit, and tenant code runs as the same user: it could block us.
 */
enum { FILES_LEAST = 65536 };

static int
find_user(const struct conf *conf, uid_t *uid, gid_t *gid, struct err *e)
{
	const struct passwd *pw = getpwnam(conf->user);

	if (pw == NULL)
		return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		    "the setting user is %.100s, but this host has no such user",
		    conf->user);
	if (pw->pw_uid == 0)
		return err_set(e, ERR_INVALID, CODE_BAD_SETTING,
		    "the setting user must not be root");
	*uid = pw->pw_uid;
	*gid = pw->pw_gid;
	return 0;
}

void
program_raise_limits(void)
{
	static const struct {
		__rlimit_resource_t what;
		rlim_t least;
	} LIMITS[] = {
		{ RLIMIT_NOFILE, FILES_LEAST },
		{ RLIMIT_NPROC, RLIM_INFINITY },
		{ RLIMIT_SIGPENDING, RLIM_INFINITY },
		{ RLIMIT_MSGQUEUE, RLIM_INFINITY },
	};

	for (size_t i = 0; i < sizeof(LIMITS) / sizeof(LIMITS[0]); i++) {
		struct rlimit r;

		if (getrlimit(LIMITS[i].what, &r) < 0)
			continue;
		if (geteuid() == 0 && r.rlim_max < LIMITS[i].least)
			r.rlim_max = LIMITS[i].least;
		r.rlim_cur = r.rlim_max;
		setrlimit(LIMITS[i].what, &r);
	}
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
		return err_errno(e, "cannot become user %.100s", conf->user);
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
