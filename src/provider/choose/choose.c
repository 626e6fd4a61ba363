/* choose.c: finds a provider by its name and opens it for this host. */
#include "provider/choose/choose.h"

#include <fcntl.h>
#include <string.h>

#include "common/mem.h"
#include "provider/cgroup/cgroup.h"
#include "provider/choose/faulty.h"
#include "provider/host/file.h"
#include "provider/local/local.h"

static const struct provider_ops *const PROVIDERS[] = { &PROVIDER_LOCAL };

static int
read_boot_id(char out[BOOT_ID_MAX], struct err *e)
{
	auto_buf struct buf text = { 0 };
	bool found;

	if (file_read(AT_FDCWD, "/proc/sys/kernel/random/boot_id",
		BOOT_ID_MAX - 1, &found, &text, e) < 0)
		return -1;
	if (!found || text.len == 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_HOST_NOT_READY,
		    "cannot read the kernel's boot id: is /proc mounted?");
	text.data[strcspn(text.data, "\n")] = '\0';
	str_copy(out, BOOT_ID_MAX, text.data);
	return 0;
}

int
provider_open(const char *name, const struct conf *conf,
    const char *installation, struct provider *p, struct err *e)
{
	for (size_t i = 0; i < ARRAY_LEN(PROVIDERS); i++)
		if (str_equal(PROVIDERS[i]->name, name))
			return provider_open_ops(PROVIDERS[i], conf,
			    installation, p, e);
	return err_set(e, ERR_INVALID, CODE_NO_SUCH_PROVIDER,
	    "there is no provider \"%.32s\"", name);
}

int
provider_open_ops(const struct provider_ops *ops, const struct conf *conf,
    const char *installation, struct provider *p, struct err *e)
{
	*p = (struct provider){ .ops = provider_faulty(ops), .conf = conf };
	if (!str_copy(p->installation, sizeof(p->installation), installation))
		return err_set(e, ERR_INTERNAL, CODE_INTERNAL,
		    "the installation's id is too long");
	if (read_boot_id(p->boot_id, e) < 0)
		return -1;
	return p->ops->open(p, e);
}

int
provider_check(const struct provider *p, struct err *e)
{
	return p->ops->check(p, e);
}

int
provider_prepare(const struct conf *conf, struct err *e)
{
	return cgroup_enter_leaf(conf->cgroup_root, e);
}
