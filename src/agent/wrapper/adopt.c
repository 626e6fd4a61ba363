/* adopt.c: gives a wrapper of the warm pool to the session that claimed it. */
#include "agent/wrapper/adopt.h"

#include "agent/base/lock.h"
#include "agent/git/config.h"
#include "agent/run/activity.h"
#include "agent/shell/envset.h"
#include "agent/shell/shell.h"
#include "common/id.h"
#include "common/mem.h"

enum { NAME_MAX_BYTES = 512, GIT_MAX = 320 };

struct adoption {
	char claim[ID_MAX];
	char name[NAME_MAX_BYTES + 1];
	char git_name[GIT_MAX], git_email[GIT_MAX];
	int network;
	const json_t *env;
};

static const struct jfield FIELDS[] = {
	JFIELD("claim", struct adoption, claim, J_STR, J_REQUIRED, 1,
	    ID_MAX - 1, "made up by the create"),
	JFIELD("name", struct adoption, name, J_STR, 0, 0, NAME_MAX_BYTES,
	    "the session's name"),
	JFIELD("gitName", struct adoption, git_name, J_STR, 0, 0, GIT_MAX - 1,
	    "author of commits"),
	JFIELD("gitEmail", struct adoption, git_email, J_STR, 0, 0, GIT_MAX - 1,
	    "and the address"),
	JFIELD("network", struct adoption, network, J_BOOL, 0, 0, 0,
	    "may connect to something"),
	JFIELD("env", struct adoption, env, J_OBJ, 0, 0, ENV_COUNT_MAX,
	    "variables"),
};

static struct lock lock = LOCK_INIT(LOCK_ADOPT);
static char adopted_by[ID_MAX]; /* "": by none yet */

/* The claim counts, and *first: it has not been heard before. */
static int
take_claim(const char *claim, bool *first, struct err *e)
{
	bool ours;

	lock_take(&lock);
	*first = adopted_by[0] == '\0';
	if (*first)
		str_copy(adopted_by, sizeof(adopted_by), claim);
	ours = str_equal(adopted_by, claim);
	lock_drop(&lock);
	return ours ? 0
		    : err_set(e, ERR_CONFLICT, CODE_ALREADY_ADOPTED,
			  "another create has claimed this wrapper");
}

/*
 * A shell reads some variables only when it starts (BASH_ENV, SHELLOPTS), so
 * the next command gets a new one.
 */
static void
replace_shell(void)
{
	struct err ignored = { 0 };

	(void)!shell_delete("default", &ignored);
}

int
adopt(const json_t *msg, struct err *e)
{
	struct adoption a = { 0 };
	bool first;

	if (jfield_decode(msg, FIELDS, ARRAY_LEN(FIELDS), J_LENIENT, &a, e) <
		0 ||
	    envset_check(a.env, "env", e) < 0 ||
	    take_claim(a.claim, &first, e) < 0)
		return -1;
	if (a.env != NULL && envset_merge(a.env, true, e) < 0)
		return -1;
	envset_adopt(a.name, a.network > 0);
	gitconfig_write("/home/user/.gitconfig", a.git_name, a.git_email);
	if (first && json_object_size(a.env) > 0)
		replace_shell();
	activity_touch();
	return 0;
}
