/*
 * sandbox.h: a sandbox as rows describe it and a provider makes it.
 *
 * Only the words: making one is provider.h's.
 */
#ifndef SANDLEASE_DOMAIN_SANDBOX_H
#define SANDLEASE_DOMAIN_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "domain/sandbox_id.h"

enum {
	SANDBOX_ROOTFS_MAX = 512,
	BOOT_ID_MAX = 40,   /* of the boot in which it was started */
	STORAGE_ID_MAX = 65 /* of the storage of its host */
};

/*
 * What to make.  Limits of 0 mean: none asked for.  Incarnations are random,
 * so their order comes from `epoch`, the sandbox row's attempt, which only
 * grows: an ensure whose epoch is not above that of another incarnation on
 * record is stale.  0 means the caller knows no order.
 */
struct sandbox_spec {
	char id[SANDBOX_ID_MAX];
	char incarnation[ID_MAX];
	int64_t epoch;
	char rootfs[SANDBOX_ROOTFS_MAX]; /* "": the host's own directories */
	bool writable_root; /* each session may change a copy of it */
	int64_t memory_mb;
	int64_t cpu_millis;
	int64_t disk_mb;
	int64_t pids;
};

#endif
