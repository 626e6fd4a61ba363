/* execution_body.h: reads the bodies that make executions. */
#ifndef SANDLEASE_API_V1_EXECUTION_BODY_H
#define SANDLEASE_API_V1_EXECUTION_BODY_H

#include "api/app.h"
#include "domain/limits.h"

enum { EXECUTION_ARGV_MAX = 1000 };

struct execution_body {
	char command[EXECUTION_COMMAND_MAX + 1];
	char cwd[1025];
	char agent_type[AGENT_TYPE_MAX];
	char task_id[256];
	const json_t *argv;
	const json_t *env;
	const json_t *context;
	const json_t *files;
	int64_t files_in_root; /* as in session_options */
	const json_t *collect;
	const json_t *limits;
	int64_t max_retries;

	/* only of one that brings its session */
	const json_t *correlation_keys;
	const json_t *network;
	char class_name[65];
	int isolation; /* -1: not given */
	int cleanup;   /* of CLEANUP_NAMES; -1: not given */
};
/* In a session that there is, and with one of its own. */
extern const struct jfield EXECUTION_FIELDS[], RUN_FIELDS[];
extern const size_t EXECUTION_FIELD_COUNT, RUN_FIELD_COUNT;

/* The word of b->cleanup; "": not given. */
const char *execution_body_cleanup(const struct execution_body *b);

/*
 * Decodes and checks the body; *json owns the memory from which *b borrows.
 * run_body_read(): of an execution that brings its session; its command may be
 * missing.
 */
int execution_body_read(struct call *c, struct execution_body *b, json_t **json,
    struct err *e) MUST_CHECK;
int run_body_read(struct call *c, struct execution_body *b, json_t **json,
    struct err *e) MUST_CHECK;
/* The same for an object that is part of a body. */
int run_body_check(json_t *json, struct execution_body *b, struct err *e)
    MUST_CHECK;

/*
 * {command | argv, cwd, env, files, ...} as the agent takes it; the caller owns
 * it.
 */
json_t *execution_body_work(const struct execution_body *b);

/* The command, or the words of argv, for people; the caller frees it. */
char *execution_body_shown(const struct execution_body *b);

#endif
