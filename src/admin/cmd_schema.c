/* cmd_schema.c: migrates the database, and makes a file of seal keys. */
#include <stdio.h>

#include "admin/commands.h"
#include "common/program.h"
#include "common/token.h"
#include "store/migrate.h"

int
cmd_migrate(struct admin *a, struct err *e)
{
	const char *dir = admin_option(a, "--sql");
	size_t applied;

	if (admin_no_more(a, e) < 0 || store_check_pooling(a->store, e) < 0 ||
	    migrate(a->store, dir != NULL ? dir : SANDLEASE_DATADIR "/sql",
		&applied, e) < 0)
		return -1;
	printf("%zu migrations applied; the schema is up to date\n", applied);
	return 0;
}

int
cmd_seal_key(struct admin *a, struct err *e)
{
	const char *path = admin_argument(a);

	if (path == NULL)
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "seal-key needs the file's name");
	if (admin_no_more(a, e) < 0 || seal_keys_create(path, e) < 0)
		return -1;
	return program_give_file(a->conf, path, e);
}
