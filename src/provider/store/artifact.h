/*
 * artifact.h: keeps files that executions have left, by the hash of their bytes.
 *
 * DIR/ORG/AA/SHA256, where ORG is a folder for each org: nobody can find out by
 * a hash what another org has.  Rows say which executions have a file.  One
 * that no row has is removed after an hour: its writer may be about to write
 * the row.
 */
#ifndef SANDLEASE_PROVIDER_STORE_ARTIFACT_H
#define SANDLEASE_PROVIDER_STORE_ARTIFACT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/conf.h"
#include "common/digest.h"
#include "common/err.h"
#include "common/id.h"

enum { ARTIFACT_ORG_MAX = 17, ARTIFACT_SLOTS = 256 };

/* The folder of an org. */
void artifact_org(const char *tenant, char out[ARTIFACT_ORG_MAX]);

/* A file that is being written. */
struct artifact_file {
	int dir; /* the org's */
	int fd;
	struct digest digest;
	int64_t bytes;
	char temp[ID_MAX + 8]; /* "": none */
};

#define auto_artifact __attribute__((cleanup(artifact_drop)))
#define ARTIFACT_NONE                                                          \
	{                                                                      \
		.dir = -1, .fd = -1                                            \
	}

/* Fails with "insufficient_storage" if little room is left. */
int artifact_begin(const struct conf *conf, const char *org,
    struct artifact_file *f, struct err *e) MUST_CHECK;
int artifact_add(struct artifact_file *f, const char *data, size_t len,
    struct err *e) MUST_CHECK;
/* Gives it its name, which is the hash; `durable`: waits for the disk. */
int artifact_end(struct artifact_file *f, bool durable,
    char hash[DIGEST_HEX_MAX], struct err *e) MUST_CHECK;
void artifact_drop(struct artifact_file *f);

/* Opens one for reading.  Returns the descriptor; ERR_GONE: it is not there. */
int artifact_open(const struct conf *conf, const char *org, const char *hash,
    struct err *e) MUST_CHECK;

/*
 * Removes the files of one slot (0 to 255, the first byte of the hash) that are
 * older than an hour and that `is_known` does not know; is_known returns -1 if
 * it cannot tell.  *removed counts them.
 */
typedef int artifact_known_fn(void *ctx, const char *org, const char *hash,
    struct err *e);
int artifact_sweep(const struct conf *conf, int slot,
    artifact_known_fn *is_known, void *ctx, int64_t *removed, struct err *e)
    MUST_CHECK;

#endif
