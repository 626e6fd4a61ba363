/*
 * handle.h: an open provider, for code that holds it and does not call it.
 *
 * API, reaper and admin hold a provider inside struct control.  They see
 * neither its operations (provider.h) nor the link to the agent (link/link.h):
 * they call control/, which calls the provider.
 */
#ifndef SANDLEASE_PROVIDER_HANDLE_H
#define SANDLEASE_PROVIDER_HANDLE_H

#include "common/conf.h"
#include "domain/sandbox.h"

enum { INSTALLATION_MAX = 40 };

struct provider_ops; /* provider.h */

struct provider {
	const struct provider_ops *ops;
	const struct conf *conf; /* borrowed */
	char installation[INSTALLATION_MAX];
	char boot_id[BOOT_ID_MAX];
	/* the id that this host's storage must have; "": any */
	char storage_id[STORAGE_ID_MAX];
};

#endif
