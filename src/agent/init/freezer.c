/* freezer.c: freezes and thaws a cell by its cgroup. */
#include "agent/init/freezer.h"

#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

struct freeze_order {
	int64_t number;
	char frozen[FREEZER_WORD_MAX];
	char thawed[FREEZER_WORD_MAX];
};

static const struct jfield ORDER[] = {
	JFIELD("order", struct freeze_order, number, J_INT, J_REQUIRED, 1,
	    INT64_MAX, "number of this freeze or thaw"),
	JFIELD("frozen", struct freeze_order, frozen, J_STR, 0, 1,
	    FREEZER_WORD_MAX - 1, "text that freezes"),
	JFIELD("thawed", struct freeze_order, thawed, J_STR, 0, 1,
	    FREEZER_WORD_MAX - 1, "text that thaws"),
};

static int
write_word(int fd, const char *word)
{
	size_t len = strlen(word);

	return pwrite(fd, word, len, 0) == (ssize_t)len ? 0 : -1;
}

static int
read_order(struct cell *c, const json_t *msg, struct freeze_order *o,
    struct err *e)
{
	*o = (struct freeze_order){ 0 };
	if (jfield_decode(msg, ORDER, ARRAY_LEN(ORDER), J_LENIENT, o, e) < 0)
		return -1;
	if (o->number < c->order)
		return err_set(e, ERR_CONFLICT, CODE_STALE_ORDER,
		    "order %lld arrived after order %lld", (long long)o->number,
		    (long long)c->order);
	c->order = o->number;
	return 0;
}

void
freezer_release(struct cell *c)
{
	if (c->freezer < 0)
		return;
	(void)!write_word(c->freezer, c->thawed);
	mem_close_fd(&c->freezer);
}

int
freezer_freeze(struct cell *c, const json_t *msg, struct channel_fds *fds,
    struct err *e)
{
	struct freeze_order o;

	if (read_order(c, msg, &o, e) < 0)
		return -1;
	if (fds->count < 1 || o.frozen[0] == '\0' || o.thawed[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "freeze needs a descriptor, `frozen` and `thawed`");
	mem_close_fd(&c->freezer);
	c->freezer = channel_fds_take(fds, 0);
	str_copy(c->thawed, sizeof(c->thawed), o.thawed);
	if (write_word(c->freezer, o.frozen) == 0)
		return 0;
	err_errno(e, "freezing");
	e->code = CODE_CANNOT_SUSPEND;
	freezer_release(c);
	return -1;
}

int
freezer_thaw(struct cell *c, const json_t *msg, struct err *e)
{
	struct freeze_order o;

	if (read_order(c, msg, &o, e) < 0)
		return -1;
	if (c->freezer >= 0 && write_word(c->freezer, c->thawed) < 0)
		return err_errno(e, "thawing");
	mem_close_fd(&c->freezer);
	return 0;
}
