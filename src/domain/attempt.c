/* attempt.c: frees what a wrapper has told of an attempt. */
#include "domain/attempt.h"

#include <stdlib.h>

#include "common/mem.h"

void
agent_attempt_free(struct agent_attempt *a)
{
	free(a->message);
	free(a->tail);
	json_release(&a->usage);
	json_release(&a->keys);
	json_release(&a->streams);
	buf_free(&a->output);
	*a = (struct agent_attempt){ 0 };
}
