/* cmd_warm.c: shows the warm pool. */
#include "admin/commands.h"
#include "admin/list.h"
#include "common/mem.h"

int
cmd_warm_show(struct admin *a, struct err *e)
{
	auto_rows struct rows *r = NULL;
	auto_json json_t *o = NULL;

	if (admin_no_more(a, e) < 0 ||
	    STORE_RUN(a->store, STMT_WARM_SHOW, &r, e) < 0 ||
	    rows_json(r, 0, "json", &o, e) < 0)
		return -1;
	list_print_one(a, o);
	return 0;
}
