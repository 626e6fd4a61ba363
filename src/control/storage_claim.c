/* storage_claim.c: checks that the storage here is this host's. */
#include "control/storage_claim.h"

#include "common/fault.h"
#include "common/mem.h"
#include "common/str.h"
#include "provider/provider.h"

static int
refuse_storage(const struct control *ctl, const char *verdict,
    const char *owner, struct err *e)
{
	const char *host = ctl->conf->host_name, *dir = ctl->conf->state_dir;

	if (str_equal(verdict, "foreign"))
		return err_set(e, ERR_UNAVAILABLE, CODE_STORAGE_MISMATCH,
		    "%.60s/storage is that of host %.40s: set host_name to it, or if that host is no more run sandlease-admin host adopt-storage --from %.40s",
		    dir, owner, owner);
	if (str_equal(verdict, "missing"))
		return err_set(e, ERR_UNAVAILABLE, CODE_STORAGE_MISMATCH,
		    "%.60s/storage has no id, and host %.40s has files: is its disk mounted? if they were lost or restored run sandlease-admin host adopt-storage",
		    dir, host);
	return err_set(e, ERR_UNAVAILABLE, CODE_STORAGE_MISMATCH,
	    "%.60s/storage is not the one that host %.40s had: is its disk mounted? if it was replaced run sandlease-admin host adopt-storage",
	    dir, host);
}

int
storage_claim(struct control *ctl, struct err *e)
{
	struct provider *p = &ctl->provider;
	char id[STORAGE_ID_MAX], fresh[ID_MAX];
	bool empty;

	if (p->ops->storage_id == NULL)
		return 0;
	for (int tries = 0;; tries++) {
		auto_rows struct rows *r = NULL;
		const char *verdict;

		if (p->ops->storage_id(p, id, &empty, e) < 0 ||
		    STORE_RUN(ctl->store, STMT_HOST_STORAGE, &r, e,
			ctl->conf->host_name, id, empty ? "true" : "false") < 0)
			return -1;
		verdict = rows_text(r, 0, "verdict");
		if (str_equal(verdict, "ok"))
			break;
		if (!str_equal(verdict, "make") || tries > 0)
			return refuse_storage(ctl, verdict,
			    rows_text(r, 0, "owner"), e);
		/*
		 * file before row: a row without its file is refused for ever
		 */
		id_random(fresh, ID_SESSION_LEN);
		if (p->ops->storage_mark(p, fresh, e) < 0)
			return -1;
	}
	str_copy(p->storage_id, sizeof(p->storage_id), id);
	return 0;
}

int
storage_is_here(const struct control *ctl, struct err *e)
{
	const struct provider *p = &ctl->provider;

	return p->ops->storage_check == NULL ? 0 : p->ops->storage_check(p, e);
}
