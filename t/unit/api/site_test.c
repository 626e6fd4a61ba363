/* site_test.c: tests if previews and dashboard are one site to a browser. */
#include "../unit.h"

#include <string.h>

#include "api/serve/site.h"
#include "common/mem.h"

static void
names_of_one_registrable_domain_are_one_site(void **state)
{
	static const struct {
		const char *dashboard, *previews;
		bool below;
		const char *site; /* NULL: two sites */
	} CASES[] = {
		{ "https://sandlease.example.com",
		    "https://previews.example.com", true, "example.com" },
		{ "https://example.com", "https://example.com:8443", true,
		    "example.com" },
		{ "https://a.EXAMPLE.com/", "https://example.com", true,
		    "example.com" },
		{ "https://sandlease.example.com", "https://example.net", true,
		    NULL },
		{ "https://sandlease.example.co.uk", "https://other.co.uk",
		    true, NULL },
		{ "https://sandlease.example.co.uk",
		    "https://previews.example.co.uk", true, "example.co.uk" },
		/* a public suffix, under which strangers register names */
		{ "https://me.github.io", "https://you.github.io", true, NULL },
		{ "https://me.github.io", "https://github.io", true, NULL },
		/* the addresses that ./dev uses */
		{ "http://127.0.0.1:8080", "http://localhost:8080", true,
		    NULL },
		{ "http://localhost:8080", "http://localhost:8080", true,
		    NULL },
		{ "http://localhost:8080", "http://localhost:8081", false,
		    "localhost" },
		{ "http://127.0.0.1:8080", "http://127.0.0.1:8081", false,
		    "127.0.0.1" },
		{ "http://127.0.0.1:8080", "http://127.0.0.2:8080", false,
		    NULL },
		{ "http://[::1]:8080", "http://[::1]:8081", false, "[::1" },
		{ "https://sandlease.example.com", "", true, NULL },
		{ "https://sandlease.example.com", "nonsense", true, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(CASES); i++) {
		char site[SITE_MAX] = "";
		bool shared = site_is_shared(CASES[i].dashboard,
		    CASES[i].previews, CASES[i].below, site);

		if (shared != (CASES[i].site != NULL) ||
		    (shared && strcmp(site, CASES[i].site) != 0))
			fail_msg("%s, %s: %d %s", CASES[i].dashboard,
			    CASES[i].previews, shared, site);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_one_registrable_domain_are_one_site),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
