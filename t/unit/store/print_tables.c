/*
 * print_tables.c: the tables that C and the database share, for t/sql.
 *
 * usage: print_tables statements | params | transitions | states
 */
#include <stdio.h>
#include <stdlib.h>

#include "common/mem.h"
#include "common/str.h"
#include "domain/lease.h"
#include "domain/session.h"
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
print_effects(unsigned effects)
{
	const char *before = "{";

	for (size_t i = 0; LEASE_EFFECT_NAMES[i] != NULL; i++)
		if ((effects & (1U << i)) != 0) {
			printf("%s%s", before, LEASE_EFFECT_NAMES[i]);
			before = ",";
		}
	puts(effects == 0 ? "{}" : "}");
}

static void
print_transitions(void)
{
	for (size_t i = 0; i < LEASE_TRANSITION_COUNT; i++) {
		const struct lease_transition *t = &LEASE_TRANSITIONS[i];

		printf("%s|%s|%s|%s|", LEASE_STATE_NAMES[t->from],
		    LEASE_EVENT_NAMES[t->event], LEASE_STATE_NAMES[t->to],
		    LEASE_FENCE_NAMES[t->fence]);
		print_effects(t->effects);
	}
}

static void
print_states(void)
{
	for (int i = 0; i < SESSION__MAX; i++)
		printf("session|%s\n", SESSION_STATE_NAMES[i]);
	for (int i = 0; i < LEASE__MAX; i++)
		printf("lease|%s\n", LEASE_STATE_NAMES[i]);
	for (size_t i = 0; ISOLATION_NAMES[i] != NULL; i++)
		printf("isolation|%s\n", ISOLATION_NAMES[i]);
}

static const struct {
	const char *name;
	void (*print)(void);
} TABLES[] = {
	{ "statements", print_statements },
	{ "params", print_params },
	{ "transitions", print_transitions },
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
	fputs("usage: print_tables statements|params|transitions|states\n",
	    stderr);
	return EXIT_FAILURE;
}
