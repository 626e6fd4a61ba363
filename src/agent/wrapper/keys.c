/* keys.c: correlation keys that commands inside ask for their session. */
#include "agent/wrapper/keys.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <unistd.h>

#include "agent/files/record.h"
#include "common/correlation.h"
#include "common/id.h"
#include "common/mem.h"

#define KEYS_DIR "/home/user/.local/state/sandlease"

enum { NAME_BYTES = 5 + ID_MAX };

/* Named by the session: a session that is made of a snapshot asks for none. */
static char record[NAME_BYTES];

void
keys_open(const char *session)
{
	snprintf(record, sizeof(record), "keys-%s", session);
}

json_t *
keys_asked(void)
{
	auto_json json_t *body = record_read(KEYS_DIR, record);

	return correlation_list(json_object_get(body, "keys"));
}

static int
complain(const char *why)
{
	fprintf(stderr, "sandlease-agent: %s\n", why);
	return 1;
}

/* Adds the key to the file; others that do the same wait. */
static int
add(const char *key)
{
	auto_json json_t *list = NULL, *body = NULL;
	auto_fd int dir = -1;

	record_dir(KEYS_DIR);
	dir = open(KEYS_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0 || flock(dir, LOCK_EX) < 0)
		return complain("cannot write to " KEYS_DIR);
	list = keys_asked();
	if (correlation_list_has(list, key))
		return 0;
	if (json_array_size(list) >= CORRELATION_GIVEN_MAX)
		return complain("the session has asked for 16 keys already");
	if (list == NULL)
		list = json_array();
	json_array_append_new(list, json_string(key));
	body = json_pack("{s:O}", "keys", list);
	record_write(KEYS_DIR, record, body);
	json_release(&list);
	list = keys_asked();
	return correlation_list_has(list, key)
	    ? 0
	    : complain("cannot write to " KEYS_DIR);
}

int
keys_main(const char *key)
{
	const char *session = getenv("SANDLEASE_SESSION_ID");

	if (session == NULL || !id_is_session(session))
		return complain("SANDLEASE_SESSION_ID is not set");
	if (!correlation_is_key(key))
		return complain(
		    "a key must be a printable string of 1 to 255 bytes");
	keys_open(session);
	return add(key);
}
