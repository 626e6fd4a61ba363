/* authority_row.c: the certificate authority of the installation. */
#include "common/channel.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "egress/base/authority.h"
#include "egress/process.h"

static const char AUTHORITY[] =
    "network_authority"; /* name of the sealed key */

/* Makes one, unless another host was faster. */
static int
make_authority(struct rows_process *p, struct err *e)
{
	auto_buf struct buf certificate = { 0 }, key = { 0 };
	auto_json json_t *plain = NULL, *sealed = NULL;
	int rc;

	if (authority_make(&certificate, &key, e) < 0)
		return -1;
	plain = json_pack("{s:s}", "key", key.data);
	sealed = control_seal(&p->ctl, "", AUTHORITY, plain);
	rc = STORE_RUN(p->store, STMT_EGRESS_AUTHORITY_ADD, NULL, e,
	    certificate.data, json_string_value(sealed));
	token_wipe(key.data, key.len);
	return rc;
}

static int
read_authority(struct rows_process *p, json_t **out, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *plain = NULL;

	if (STORE_RUN(p->store, STMT_EGRESS_AUTHORITY, &r, e) < 0)
		return -1;
	if (rows_count(r) == 0)
		return 0;
	if (control_unseal(&p->ctl, "", AUTHORITY,
		rows_text(r, 0, "key_sealed"), &plain, e) < 0)
		return err_wrap(e, "the key of the certificate authority");
	*out = json_pack("{s:s, s:s}", "certificate",
	    rows_text(r, 0, "certificate"), "key", json_str(plain, "key"));
	return 0;
}

int
authority_send(struct rows_process *p, struct err *e)
{
	auto_json json_t *msg = json_pack("{s:s}", "op", "authority");
	auto_json json_t *body = NULL;
	auto_fd int fd = -1;

	if (read_authority(p, &body, e) < 0 ||
	    (body == NULL &&
		(make_authority(p, e) < 0 || read_authority(p, &body, e) < 0)))
		return -1;
	fd = body_fd(body, e);
	return fd < 0 ? -1 : channel_send(p->serve_fd, msg, &fd, 1, e);
}
