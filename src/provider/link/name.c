/*
 * name.c: builds, parses, lists and removes the names of the sockets to which
 * nginx connects.
 *
 * <run_dir>/s/<session>.<generation>.sock is the socket of the data plane, with
 * ".ws" before ".sock" that of WebSockets, with ".<port>" that of a relayed
 * port.  nginx and src/api/ build the same names.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/host/file.h"
#include "provider/link/link.h"

void
agent_socket_path(const struct conf *conf, const char *session,
    int64_t generation, int64_t port, char *out, size_t size)
{
	auto_free char *path = NULL;
	char which[24] = "";

	if (port == AGENT_PORT_WS)
		str_copy(which, sizeof(which), ".ws");
	else if (port != AGENT_PORT_DATA)
		snprintf(which, sizeof(which), ".%" PRId64, port);
	path = xasprintf("%s/s/%s.%" PRId64 "%s.sock", conf->run_dir, session,
	    generation, which);
	/* a path that does not fit becomes "", never another socket's path */
	(void)!str_copy(out, size, path);
}

static bool
parse_socket_name(const char *name, struct agent_file *out)
{
	int64_t port;
	int end = 0;

	*out = (struct agent_file){ 0 };
	if (!str_copy(out->name, sizeof(out->name), name) ||
	    strlen(name) <= ID_SESSION_LEN || name[ID_SESSION_LEN] != '.')
		return false;
	memcpy(out->life.session, name, ID_SESSION_LEN);
	if (!id_is_session(out->life.session) ||
	    sscanf(name + ID_SESSION_LEN + 1, "%" SCNd64 "%n",
		&out->life.generation, &end) != 1)
		return false;
	name += ID_SESSION_LEN + 1 + end;
	if (str_equal(name, ".sock") || str_equal(name, ".ws.sock"))
		return true;
	end = 0;
	return sscanf(name, ".%" SCNd64 ".sock%n", &port, &end) == 1 &&
	    end > 0 && name[end] == '\0';
}

int
agent_sockets(const struct conf *conf, struct agent_file **out, size_t *count,
    struct err *e)
{
	auto_free char *dir = xasprintf("%s/s", conf->run_dir);
	auto_names char **names = NULL;
	size_t all = 0;

	*out = NULL;
	*count = 0;
	if (file_names(AT_FDCWD, dir, &names, e) < 0)
		return -1;
	while (names[all] != NULL)
		all++;
	*out = xcalloc(all + 1, sizeof(**out));
	for (size_t i = 0; i < all; i++)
		if (parse_socket_name(names[i], &(*out)[*count]))
			++*count;
	return 0;
}

void
agent_unlink_socket(const struct conf *conf, const struct agent_file *f)
{
	auto_free char *path = xasprintf("%s/s/%s", conf->run_dir, f->name);

	unlink(path);
}

void
agent_unlink_sockets_of(const struct conf *conf, const struct agent_life *lives,
    size_t count)
{
	auto_free struct agent_file *files = NULL;
	struct err ignored; /* a socket file that stays has no listener */
	size_t n;

	if (count == 0 || agent_sockets(conf, &files, &n, &ignored) < 0)
		return;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < count; k++)
			if (str_equal(files[i].life.session,
				lives[k].session) &&
			    files[i].life.generation <= lives[k].generation) {
				agent_unlink_socket(conf, &files[i]);
				break;
			}
}

void
agent_unlink_sockets(const struct conf *conf, const char *session,
    int64_t up_to_generation)
{
	struct agent_life life = { .generation = up_to_generation };

	if (!id_is_session(session))
		return;
	str_copy(life.session, sizeof(life.session), session);
	agent_unlink_sockets_of(conf, &life, 1);
}
