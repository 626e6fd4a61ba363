/*
 * handle.h: an open provider, for those who hold it and do not call it.
 *
 * The rooms above control/ hold one inside struct control.  They see neither
 * the operations (provider.h) nor the agent's link: what they want done, they
 * ask control/ for.
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
	/* what the files of this host are known by; "": nobody has said */
	char storage_id[STORAGE_ID_MAX];
};

#endif
