/* cmd_org.c: sets isolation, salt, network and quotas of an org, and recounts
 * quotas. */
#include <stdio.h>

#include "admin/commands.h"
#include "admin/network_spec.h"
#include "common/mem.h"
#include "common/str.h"

enum { QUOTA_LIMIT_MAX = 1000 * 1000 * 1000, SALT_MAX = 64 };

static const char USAGE[] =
    "org set ORG [--isolation session|shared|inherit] [--salt WORD]"
    " [--network none|open|HOST,@PRESET,...|default]"
    " [--max-sessions N|inherit]"
    " [--max-active N|inherit] [--creates-per-minute N|inherit]"
    " [--max-previews N|inherit] [--max-disk-mb N|inherit]"
    " [--max-snapshots N|inherit] [--max-snapshot-mb N|inherit]";

/* In the order of the statement quota_set. */
static const char *const QUOTA_OPTIONS[] = { "--max-sessions", "--max-active",
	"--creates-per-minute", "--max-previews", "--max-disk-mb",
	"--max-snapshots", "--max-snapshot-mb" };

static bool
is_isolation(const char *s)
{
	static const char *const WORDS[] = { "session", "shared", "inherit" };

	for (size_t i = 0; i < ARRAY_LEN(WORDS); i++)
		if (str_equal(WORDS[i], s))
			return true;
	return false;
}

/* Reads the options for quotas into values[]; *any: at least one was given. */
static int
read_quotas(struct admin *a, const char *values[], bool *any, struct err *e)
{
	int64_t n;

	*any = false;
	for (size_t i = 0; i < ARRAY_LEN(QUOTA_OPTIONS); i++) {
		values[i] = admin_option(a, QUOTA_OPTIONS[i]);
		if (values[i] == NULL)
			continue;
		*any = true;
		if (!str_equal(values[i], "inherit") &&
		    !str_to_int(values[i], 0, QUOTA_LIMIT_MAX, &n))
			return err_set(e, ERR_INVALID, CODE_USAGE,
			    "%s %s: must be a number, 0 for no limit, or inherit",
			    QUOTA_OPTIONS[i], values[i]);
	}
	return 0;
}

/* "" is allowed: it removes the salt. */
static int
check_salt(const char *salt, struct err *e)
{
	if (salt == NULL ||
	    str_made_of(salt,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
		0, SALT_MAX))
		return 0;
	return err_set(e, ERR_INVALID, CODE_USAGE,
	    "--salt %s: must be a word of at most %d letters, digits, '.', '_' and '-'",
	    salt, SALT_MAX);
}

/* The policy as JSON; "null" for the word default.  NULL with e set. */
static char *
read_network(const char *spec, struct err *e)
{
	auto_json json_t *policy = NULL;

	if (network_spec_read_or_default("--network", spec, &policy, e) < 0)
		return NULL;
	return json_text(policy);
}

/* The statements change nothing for an unknown org: a mistyped name must not
 * become an org without keys. */
static int
write_org(struct admin *a, const char *org, const char *isolation,
    const char *salt, const char *network, const char *const *quotas, bool any,
    struct err *e)
{
	auto_rows struct rows *set = NULL, *limited = NULL;

	if ((isolation != NULL || salt != NULL || network != NULL) &&
	    STORE_RUN(a->store, STMT_ORG_SET, &set, e, org, isolation, salt,
		network) < 0)
		return e->code == CODE_UNKNOWN_PRESET ? err_wrap(e, "--network")
						      : -1;
	if (set != NULL && rows_count(set) == 0)
		return admin_unknown_org(org, e);
	if (any &&
	    STORE_RUN(a->store, STMT_QUOTA_SET, &limited, e, org, quotas[0],
		quotas[1], quotas[2], quotas[3], quotas[4], quotas[5],
		quotas[6]) < 0)
		return -1;
	if (limited != NULL && rows_count(limited) == 0)
		return admin_unknown_org(org, e);
	return 0;
}

int
cmd_org_set(struct admin *a, struct err *e)
{
	const char *isolation = admin_option(a, "--isolation");
	const char *salt = admin_option(a, "--salt");
	const char *spec = admin_option(a, "--network");
	auto_free char *network = NULL;
	const char *quotas[ARRAY_LEN(QUOTA_OPTIONS)], *org;
	bool any;

	if (read_quotas(a, quotas, &any, e) < 0 || check_salt(salt, e) < 0)
		return -1;
	org = admin_argument(a);
	if (org == NULL ||
	    (isolation == NULL && salt == NULL && spec == NULL && !any) ||
	    (isolation != NULL && !is_isolation(isolation)))
		return err_set(e, ERR_INVALID, CODE_USAGE, "%s", USAGE);
	if (spec != NULL && (network = read_network(spec, e)) == NULL)
		return -1;
	if (admin_no_more(a, e) < 0 ||
	    write_org(a, org, isolation, salt, network, quotas, any, e) < 0)
		return -1;
	if (isolation != NULL)
		printf("new sessions of %s: %s\n", org, isolation);
	if (salt != NULL)
		printf("salt of %s: %s\n", org,
		    salt[0] != '\0' ? salt : "none");
	if (spec != NULL)
		printf("network of %s: %s\n", org, spec);
	for (size_t i = 0; i < ARRAY_LEN(QUOTA_OPTIONS); i++)
		if (quotas[i] != NULL)
			printf("%s of %s: %s\n", QUOTA_OPTIONS[i] + 2, org,
			    quotas[i]);
	return 0;
}

/* Recounts one org in a statement of its own, so that it locks the rows of one
 * org only.  Returns how many counters were wrong. */
static int
recount_org(struct admin *a, const char *org, struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(a->store, STMT_QUOTA_RECOUNT, &r, e, org) < 0)
		return -1;
	for (size_t i = 0; i < rows_count(r); i++)
		printf("%s: %s was %s, is %s\n", org,
		    rows_text(r, i, "counter"), rows_text(r, i, "was"),
		    rows_text(r, i, "is_now"));
	return (int)rows_count(r);
}

int
cmd_org_recount(struct admin *a, struct err *e)
{
	auto_rows struct rows *orgs = NULL;
	const char *org = admin_argument(a);
	int wrong = 0;

	if (admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_ORG_LIST, &orgs, e,
		org != NULL ? org : "") < 0)
		return -1;
	if (org != NULL && rows_count(orgs) == 0)
		return admin_unknown_org(org, e);
	for (size_t i = 0; i < rows_count(orgs); i++) {
		int n = recount_org(a, rows_text(orgs, i, "id"), e);

		if (n < 0)
			return -1;
		wrong += n;
	}
	printf("%zu orgs counted, %d counters corrected\n", rows_count(orgs),
	    wrong);
	return 0;
}
