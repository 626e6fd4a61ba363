/*
 * snapshot_body.h: declares the body of POST /v1/sessions/{id}/snapshots.
 */
#ifndef SANDLEASE_API_V1_SNAPSHOT_BODY_H
#define SANDLEASE_API_V1_SNAPSHOT_BODY_H

#include "common/json.h"

struct snapshot_body {
	char name[129];
};
extern const struct jfield SNAPSHOT_FIELDS[];
extern const size_t SNAPSHOT_FIELD_COUNT;

#endif
