/*
 * execution_artifact.h: reads what is kept of executions, and removes what is
 * old.
 */
#ifndef SANDLEASE_CONTROL_EXECUTION_ARTIFACT_H
#define SANDLEASE_CONTROL_EXECUTION_ARTIFACT_H

#include "control/control.h"
#include "domain/output.h"

/* A file that is kept. */
struct execution_artifact {
	int fd;
	int64_t bytes;
};

/*
 * Opens the file `path` that an execution has left, or its whole output if path
 * is "".  "artifact_not_found", "artifact_gone".
 */
int execution_artifact_open(struct control *ctl, const char *id,
    const char *path, struct execution_artifact *out, struct err *e) MUST_CHECK;

/* The output of an execution that has ended. */
struct execution_output {
	struct output shown; /* in the two files, which are mapped */
	bool kept;           /* false: there was some, and it is not kept */
};

#define auto_execution_output __attribute__((cleanup(execution_output_free)))
int execution_output_read(struct control *ctl, const char *id,
    struct execution_output *out, struct err *e) MUST_CHECK;
void execution_output_free(struct execution_output *out);

/*
 * Removes rows that are too old, and the files of one slot (0 to 255) that no row
 * has.  *removed counts the files.
 */
int execution_artifacts_sweep(struct control *ctl, int slot, int64_t *removed,
    struct err *e) MUST_CHECK;

#endif
