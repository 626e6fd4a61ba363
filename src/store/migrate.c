/* migrate.c: brings the schema up to date. */
#include "store/migrate.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/str.h"

enum { SCRIPT_MAX = 1024 * 1024 };

static int
only_sql(const struct dirent *d)
{
	size_t len = strlen(d->d_name);

	return len > 4 && str_equal(d->d_name + len - 4, ".sql") &&
	    str_made_of(d->d_name, "abcdefghijklmnopqrstuvwxyz_0123456789.", 1,
		128);
}

static int
read_script(const char *dir, const char *part, const char *name,
    struct buf *out, struct err *e)
{
	auto_free char *path = xasprintf("%s/%s/%s", dir, part, name);
	auto_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_errno(e, "%s", path);
	if (st.st_size > SCRIPT_MAX)
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL, "%s: too large",
		    path);
	for (;;) {
		ssize_t n = read(fd, buf_room(out, 65536), 65536);

		if (n < 0)
			return err_errno(e, "%s", path);
		if (n == 0)
			break;
		out->len += (size_t)n;
	}
	out->data[out->len] = '\0';
	return 0;
}

static int
is_applied(struct store *st, const char *name, bool *applied, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(st, STMT_MIGRATION_APPLIED, &r, e, name) < 0)
		return -1;
	*applied = rows_count(r) > 0;
	return 0;
}

/*
 * Asks first whether the migration is applied, so that PostgreSQL's log has no
 * error for each migration of a schema that is up to date.  Safety does not
 * depend on that: the primary key on the name makes a second application fail,
 * and the whole transaction with it.
 */
static int
apply_migration(struct store *st, const char *dir, const char *name,
    size_t *applied, struct err *e)
{
	auto_buf struct buf body = { 0 }, script = { 0 };
	struct err ignored = { 0 };
	bool known;

	if (is_applied(st, name, &known, e) < 0)
		return -1;
	if (known)
		return 0;
	if (read_script(dir, "migrations", name, &body, e) < 0)
		return -1;
	buf_fmt(&script,
	    "BEGIN; INSERT INTO schema_migration (name) VALUES ('%s');\n%s\n"
	    "COMMIT;",
	    name, body.data);
	if (store_script(st, script.data, e) == 0) {
		(*applied)++;
		return 0;
	}
	(void)!store_script(st, "ROLLBACK", &ignored);
	return err_wrap(e, "migration %s", name);
}

static int
apply_function(struct store *st, const char *dir, const char *name,
    size_t *applied, struct err *e)
{
	auto_buf struct buf script = { 0 };

	(void)applied;
	buf_str(&script, "BEGIN;\n");
	if (read_script(dir, "functions", name, &script, e) < 0)
		return -1;
	buf_str(&script, "\nCOMMIT;");
	if (store_script(st, script.data, e) < 0)
		return err_wrap(e, "functions %s", name);
	return 0;
}

static int
each_script(struct store *st, const char *dir, const char *part,
    int (*apply)(struct store *, const char *, const char *, size_t *,
	struct err *),
    size_t *applied, struct err *e)
{
	auto_free char *path = xasprintf("%s/%s", dir, part);
	struct dirent **list = NULL;
	int n = scandir(path, &list, only_sql, alphasort), rc = 0;

	if (n < 0)
		return err_errno(e, "%s", path);
	for (int i = 0; i < n; i++) {
		if (rc == 0)
			rc = apply(st, dir, list[i]->d_name, applied, e);
		free(list[i]);
	}
	free(list);
	return rc;
}

int
migrate(struct store *st, const char *dir, size_t *applied, struct err *e)
{
	static const char BEGIN[] =
	    "SET statement_timeout = 0; SET lock_timeout = 0;"
	    "SELECT pg_advisory_lock(727000);"
	    "CREATE TABLE IF NOT EXISTS schema_migration ("
	    " name text PRIMARY KEY,"
	    " at timestamptz NOT NULL DEFAULT clock_timestamp())";
	int rc;

	*applied = 0;
	if (store_script(st, BEGIN, e) < 0)
		return -1;
	rc = each_script(st, dir, "migrations", apply_migration, applied, e);
	if (rc == 0)
		rc = each_script(st, dir, "functions", apply_function, applied,
		    e);
	store_disconnect(st); /* releases the advisory lock, too */
	return rc;
}
