/*
 * sandbox.h: describes a sandbox, as its row has it and a provider makes it.
 *
 * Types only: src/provider/provider.h makes sandboxes.
 */
#ifndef SANDLEASE_DOMAIN_SANDBOX_H
#define SANDLEASE_DOMAIN_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>

#include "common/id.h"
#include "domain/sandbox_id.h"

enum {
	SANDBOX_ROOTFS_MAX = 512,
	BOOT_ID_MAX = 40,   /* id of the boot in which it was started */
	STORAGE_ID_MAX = 65 /* id of the storage of its host */
};

/*
 * The sandbox to make.  A limit of 0: none is asked for.  Incarnations are
 * random, so their order comes from `epoch`, the `attempt` of the sandbox's
 * row, which only grows.  An ensure is stale if its epoch is not above that of
 * another incarnation on record.  Epoch 0: the caller knows no order.
 */
struct sandbox_spec {
	char id[SANDBOX_ID_MAX];
	char incarnation[ID_MAX];
	int64_t epoch;
	char rootfs[SANDBOX_ROOTFS_MAX]; /* "": the host's own directories */
	bool writable_root; /* each session may change its copy of rootfs */
	int64_t memory_mb;
	int64_t cpu_millis;
	int64_t disk_mb;
	int64_t pids;
};

#endif
