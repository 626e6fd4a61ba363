/*
 * launch.h: decodes the message that asks for a wrapper.
 *
 * init decodes the message to make the cell, and passes it on unchanged; the
 * wrapper decodes it again.
 */
#ifndef SANDLEASE_AGENT_CELL_LAUNCH_H
#define SANDLEASE_AGENT_CELL_LAUNCH_H

#include <stddef.h>
#include <stdint.h>

#include "common/channel.h"
#include "common/id.h"
#include "common/json.h"
#include "common/log.h"

/* Index of a launch's sockets: two fixed ones, then those of its ports. */
enum launch_socket { LAUNCH_DATA, LAUNCH_WS, LAUNCH_PORTS };

/*
 * The descriptors that a wrapper is started with.  WRAPPER_MEMINFO writes the
 * cell's /proc/meminfo; it is /dev/null if the cell shows the kernel's file.
 */
enum { WRAPPER_CHANNEL = 3, WRAPPER_MEMINFO, WRAPPER__END };

enum {
	LAUNCH_USER_MAX = 33,
	LAUNCH_NAME_MAX = 513, /* 128 characters of UTF-8 and the NUL */
	LAUNCH_GIT_NAME_MAX = 160,
	LAUNCH_GIT_EMAIL_MAX = 192
};

struct launch {
	char session[ID_MAX];
	char instance[ID_MAX];
	int64_t generation;
	int64_t
	    intent_ms; /* a clock_ms() before the generation was allocated */
	const json_t *env; /* borrowed; NULL: none */
	char user[LAUNCH_USER_MAX];
	char name[LAUNCH_NAME_MAX];         /* the session's; "": none */
	char git_name[LAUNCH_GIT_NAME_MAX]; /* "": not set */
	char git_email[LAUNCH_GIT_EMAIL_MAX];
	/* limits of the cell; 0: none */
	int64_t pids, tmp_mb, memory_mb, file_mb;
	/* limits that programs see (cell/limits_view.h); 0: the host's */
	int64_t shown_memory_mb, shown_cpus;
	bool network; /* the session may connect to something */
	enum log_level log_level;
	enum log_format log_format;
	int64_t log_kb;
	int ports[CHANNEL_FDS_MAX];
	size_t port_count;
	int64_t cgroups; /* how many cgroup.procs files follow the sockets */
};

/* Decodes only the limits, but for that of processors. */
int launch_decode_limits(const json_t *msg, struct launch *out, struct err *e)
    MUST_CHECK;
int launch_decode(const json_t *msg, struct launch *out, struct err *e)
    MUST_CHECK;

#endif
