/*
 * print_tables.c: prints the tables that C and the database share, for t/sql.
 *
 * usage: print_tables statements | params | states
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/state.h"
#include "store/store.h"

static void
print_statements(void)
{
	for (int i = 0; i < STMT__MAX; i++) {
		const char *sql = store_stmt_sql((enum stmt)i);

		printf("PREPARE %s AS\n%s", store_stmt_name((enum stmt)i), sql);
	}
}

static void
print_params(void)
{
	for (int i = 0; i < STMT__MAX; i++)
		printf("%s|%zu\n", store_stmt_name((enum stmt)i),
		    store_stmt_params((enum stmt)i));
}

static void
print_states(void)
{
	static const struct {
		const char *of;
		const char *const *words;
	} STATES[] = {
		{ "session", SESSION_STATES },
		{ "lease", LEASE_STATES },
		{ "sandbox", SANDBOX_STATES },
		{ "isolation", ISOLATION_NAMES },
		{ "execution", EXECUTION_STATES },
	};

	for (size_t i = 0; i < ARRAY_LEN(STATES); i++)
		for (const char *const *w = STATES[i].words; *w != NULL; w++)
			if (**w != '\0') /* an unknown word */
				printf("%s|%s\n", STATES[i].of, *w);
}

static const struct {
	const char *name;
	void (*print)(void);
} TABLES[] = {
	{ "statements", print_statements },
	{ "params", print_params },
	{ "states", print_states },
};

int
main(int argc, char **argv)
{
	for (size_t i = 0; argc == 2 && i < ARRAY_LEN(TABLES); i++)
		if (str_equal(TABLES[i].name, argv[1])) {
			TABLES[i].print();
			return EXIT_SUCCESS;
		}
	fputs("usage: print_tables statements|params|states\n", stderr);
	return EXIT_FAILURE;
}
