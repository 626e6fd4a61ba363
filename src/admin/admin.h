/*
 * admin.h: the operator's commands, straight to the database.
 */
#ifndef SANDLEASE_ADMIN_ADMIN_H
#define SANDLEASE_ADMIN_ADMIN_H

#include "common/conf.h"
#include "common/err.h"
#include "store/store.h"

struct admin {
	const struct conf *conf;
	struct store *store;
	int argc;    /* arguments behind the command's words */
	char **argv; /* argv[0] is the first of them */
};

typedef int command_fn(struct admin *a, struct err *e);

command_fn cmd_migrate, cmd_seal_key, cmd_key_create, cmd_key_list,
    cmd_key_revoke, cmd_lease_list, cmd_lease_release, cmd_org_set,
    cmd_org_recount, cmd_rootfs_make, cmd_rootfs_list, cmd_rootfs_rm, cmd_drain,
    cmd_undrain;

/*
 * The value of option `name` ("--org") among the arguments, or NULL; it is
 * taken out, so that what is left over can be refused.
 */
const char *admin_option(struct admin *a, const char *name);

/* Whether the option `name`, which has no value, was there; it is taken out. */
bool admin_flag(struct admin *a, const char *name);

/* The next plain argument, or NULL. */
const char *admin_argument(struct admin *a);

/* ERR_INVALID naming the first argument that nobody asked for. */
int admin_no_more(struct admin *a, struct err *e) MUST_CHECK;

#endif
