/* storage_adopt.c: makes the storage here this host's. */
#include "control/storage_adopt.h"

#include "common/fault.h"
#include "provider/provider.h"

int
storage_adopt(const struct conf *conf, struct store *st, const char *from,
    struct storage_adopted *out, struct err *e)
{
	struct control ctl;
	const struct provider *p = &ctl.provider;
	auto_rows struct rows *r = NULL;
	char fresh[ID_MAX];
	bool empty;

	id_random(fresh, ID_SESSION_LEN);
	if (control_open_unclaimed(conf, st, &ctl, e) < 0 ||
	    p->ops->storage_mark(p, fresh, e) < 0 ||
	    p->ops->storage_id(p, out->id, &empty, e) < 0)
		return -1;
	CRASH_POINT("storage.marked");
	if (STORE_RUN(st, STMT_HOST_ADOPT, &r, e, conf->host_name, out->id,
		from) < 0)
		return -1;
	CRASH_POINT("storage.adopted");
	out->sandboxes = rows_int(r, 0, "sandboxes");
	out->snapshots = rows_int(r, 0, "snapshots");
	return 0;
}
