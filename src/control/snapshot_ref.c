/*
 * snapshot_ref.c: names the files of a snapshot, and records whether they
 * exist.
 */
#include "control/snapshot_ref.h"

#include <string.h>

#include "common/log.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"

void
snapshot_of(const char *tenant, const char *id, struct snapshot_ref *out)
{
	char hash[TOKEN_HASH_HEX_MAX];

	*out = (struct snapshot_ref){ 0 };
	token_hash(tenant, hash);
	memcpy(out->owner, hash, sizeof(out->owner) - 1);
	str_copy(out->id, sizeof(out->id), id);
}

int
snapshot_record_seen(struct control *ctl, const char *id, bool there,
    struct err *e)
{
	auto_rows struct rows *r = NULL;

	if (STORE_RUN(ctl->store, STMT_SNAPSHOT_SEEN, &r, e, id,
		ctl->conf->host_name, there ? "true" : "false") < 0)
		return -1;
	if (!str_empty(rows_text(r, 0, "state")))
		log_line(there ? LOG_INFO : LOG_ERROR,
		    there ? "snapshot_found" : "snapshot_lost",
		    "the files of snapshot %s are %s", id,
		    there ? "there again" : "gone");
	return 0;
}

void
snapshot_missed(struct control *ctl, const struct snapshot_ref *ref)
{
	struct err e = { 0 };

	if (snapshot_record_seen(ctl, ref->id, false, &e) < 0)
		log_err(LOG_WARN, "snapshot_missed", &e);
}
