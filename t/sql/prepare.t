#!/bin/bash
# Tests that every named statement fits the migrated schema, and that migrating
# twice is harmless.
. "${top_srcdir:=.}/t/lib/tap.sh"
. "$top_srcdir/t/lib/pg.sh"
pg_begin

tables=$STACK_BUILD/t/unit/store/print_tables
[ -x "$tables" ] || skip_all "print_tables is not built (make check builds it)"
sql=$("$tables" statements) || die "print_tables fails"
params=$("$tables" params) || die "print_tables fails"

# ---- statements

prepared=$(pg_psql -Atq -v ON_ERROR_STOP=0 2>&1 <<-SQL
	$sql
	SELECT name, coalesce(array_length(parameter_types, 1), 0) FROM pg_prepared_statements;
SQL
)
none "every statement is accepted by the server" "$(grep -A4 ERROR <<<"$prepared")"
is "$(sort <<<"$prepared")" "$(sort <<<"$params")" \
	"and takes as many parameters as it names"

# ---- migrations

errors() { grep -E ' (ERROR|FATAL|WARNING): ' "$STACK_STATE/log/postgres.log"; }
before=$(errors)
is "$(pg_migrate 2>&1)" "0 migrations applied; the schema is up to date" \
	"migrating again applies nothing"
is "$(errors)" "$before" "and leaves no error in PostgreSQL's log"
is "$(q "SELECT name FROM schema_migration ORDER BY name")" \
	"$(cd "$top_srcdir/sql/migrations" && printf '%s\n' *.sql)" \
	"each migration is recorded once, by its file's name"
is "$(q "SELECT count(*) FROM installation")" 1 "there is one installation"

# A migration waits for another one that is running.
two_at_once() {
	local one
	pg_migrate >"$LOGS/one" 2>&1 &
	one=$!
	pg_migrate >"$LOGS/two" 2>&1 && wait "$one"
}
ok "two migrations at once both succeed" two_at_once

cat >"$STACK_STATE/sql/migrations/0999_broken.sql" <<-SQL
	CREATE TABLE half_done (id int PRIMARY KEY);
	INSERT INTO half_done VALUES (1), (1);
SQL
chmod a+r "$STACK_STATE/sql/migrations/0999_broken.sql"
out=$(pg_migrate 2>&1)
is "$?" 1 "a migration that violates a constraint of its own fails"
like "$out" '0999_broken.sql' "and is named"
is "$(q "SELECT to_regclass('half_done') IS NULL")" t "nothing of it stays"
is "$(q "SELECT count(*) FROM schema_migration WHERE name LIKE '0999%'")" 0 \
	"and it is not taken for done"

done_testing
