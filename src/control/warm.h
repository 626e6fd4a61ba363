/*
 * warm.h: keeps the warm pool, sandboxes that are started before they are asked
 * for.
 *
 * A member is the sandbox of a session to come, with a wrapper that has run a
 * command.  A create claims one in its own statement (sql/functions/warm.sql),
 * and adopt.h makes it the session's.  Members cost no quota, and no tenant
 * sees them.
 */
#ifndef SANDLEASE_CONTROL_WARM_H
#define SANDLEASE_CONTROL_WARM_H

#include "control/control.h"

enum { WARM_SHAPE_MAX = 65 };

/* The classes that have members. */
struct warm_classes {
	char text[CONF_STR_MAX];
	const char *name[16];
	size_t count;
	int64_t most; /* members of each */
};

void warm_classes_read(const struct conf *conf, struct warm_classes *out);

/*
 * A hash of what a member depends on besides the row of its class: the agent
 * and the settings with which it is started, and the directory of its root file
 * system, which may be replaced under the same name.
 */
void warm_shape(struct control *ctl, const char *class_name,
    char out[WARM_SHAPE_MAX]);

/*
 * Starts one member, unless the host has `most` of that class.  *made: it is
 * ready, and there may be room for another.
 */
int warm_fill(struct control *ctl, const char *class_name, int64_t most,
    bool *made, struct err *e) MUST_CHECK;

/* Ends a member for good.  A member that a create has claimed is left alone. */
int warm_end(struct control *ctl, const char *session, const char *sandbox,
    const char *incarnation, struct err *e) MUST_CHECK;

#endif
