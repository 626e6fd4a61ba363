/* freezer.c: a cell that stands still. */
#include "agent/init/freezer.h"

#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

struct order {
	int64_t number;
	char frozen[FREEZER_WORD_MAX];
	char thawed[FREEZER_WORD_MAX];
};

static const struct jfield ORDER[] = {
	JFIELD("order", struct order, number, J_INT, J_REQUIRED, 1, INT64_MAX,
	    "which of all freezes and thaws"),
	JFIELD("frozen", struct order, frozen, J_STR, 0, 1,
	    FREEZER_WORD_MAX - 1, "what freezes"),
	JFIELD("thawed", struct order, thawed, J_STR, 0, 1,
	    FREEZER_WORD_MAX - 1, "what lets go"),
};

static int
write_word(int fd, const char *word)
{
	size_t len = strlen(word);

	return pwrite(fd, word, len, 0) == (ssize_t)len ? 0 : -1;
}

static int
take_order(struct cell *c, const json_t *msg, struct order *o, struct err *e)
{
	*o = (struct order){ 0 };
	if (jfield_decode(msg, ORDER, ARRAY_LEN(ORDER), J_LENIENT, o, e) < 0)
		return -1;
	if (o->number < c->order)
		return err_set(e, ERR_CONFLICT, CODE_STALE_ORDER,
		    "order %lld came after %lld", (long long)o->number,
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
freezer_hold(struct cell *c, const json_t *msg, struct channel_fds *fds,
    struct err *e)
{
	struct order o;

	if (take_order(c, msg, &o, e) < 0)
		return -1;
	if (fds->count < 1 || o.frozen[0] == '\0' || o.thawed[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_VALIDATION_FAILED,
		    "a descriptor and two words must come with it");
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
	struct order o;

	if (take_order(c, msg, &o, e) < 0)
		return -1;
	if (c->freezer >= 0 && write_word(c->freezer, c->thawed) < 0)
		return err_errno(e, "thawing");
	mem_close_fd(&c->freezer);
	return 0;
}
