/*
 * ssh_config.c: prints or writes a Host entry for ssh, scp and editors.
 *
 * ssh connects through `sandlease exec` to an sshd that runs as the session's
 * user and listens on no port.  The session makes the host key, and this
 * program writes it to known_hosts, so ssh does not ask the user about it.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cmd/commands.h"
#include "cli/http/sessions.h"
#include "cli/output.h"
#include "cli/show.h"
#include "common/mem.h"
#include "common/quote.h"

extern char **environ;

#define INSIDE "/home/user/.sandlease-ssh"
#define INCLUDE "Include sandlease/*.conf"

enum { FILE_MAX = 1024 * 1024 };

/* Runs in the session with PUBLIC_KEY in its environment; prints the host key. */
static const char SETUP[] =
    "set -e; umask 077; d=" INSIDE "; PATH=$PATH:/usr/sbin:/sbin\n"
    "sshd=$(command -v sshd) && command -v ssh-keygen >/dev/null || {\n"
    " echo 'the sandbox has no sshd: its image needs openssh-server' >&2; exit 3; }\n"
    "mkdir -p $d\n"
    "[ -f $d/host_key ] || ssh-keygen -q -t ed25519 -N '' -C '' -f $d/host_key\n"
    "touch $d/authorized_keys\n"
    "grep -qxF \"$PUBLIC_KEY\" $d/authorized_keys ||"
    " printf '%s\\n' \"$PUBLIC_KEY\" >>$d/authorized_keys\n"
    "cat >$d/sshd_config <<END\n"
    "HostKey $d/host_key\n"
    "AuthorizedKeysFile $d/authorized_keys\n"
    "PidFile none\nUsePAM no\nStrictModes no\nPrintMotd no\n"
    "PasswordAuthentication no\nKbdInteractiveAuthentication no\n"
    "AcceptEnv LANG LC_*\nSubsystem sftp internal-sftp\n"
    "END\n"
    "printf '#!/bin/sh\\nexec %s -i -f %s/sshd_config\\n' \"$sshd\" $d >$d/start\n"
    "chmod 700 $d/start; cat $d/host_key.pub\n";

struct entry {
	struct cli *cli;
	char id[ID_MAX];
	char *host;
	char *dir;      /* ~/.ssh/sandlease */
	char *identity; /* file name of the private key */
	char *public_key, *host_key;
	struct buf text; /* the entry */
};

/* ---- local files */

static int
read_text(const char *name, struct buf *text, struct err *e)
{
	auto_fd int fd = open(name, O_RDONLY | O_CLOEXEC);
	ssize_t n = 1;

	buf_str(text, "");
	if (fd < 0)
		return errno == ENOENT ? 0 : err_errno(e, "%.150s", name);
	while (n > 0 && text->len < FILE_MAX) {
		n = read(fd, buf_room(text, 4096), 4096);
		if (n < 0)
			return err_errno(e, "%.150s", name);
		text->len += (size_t)n;
	}
	buf_str(text, "");
	return 0;
}

/* Writes a file with mode 0600, by a temporary file and an atomic rename. */
static int
write_text(const char *name, const char *text, struct err *e)
{
	auto_free char *real = realpath(name, NULL);
	const char *to = real != NULL ? real : name;
	auto_free char *temp = xasprintf("%s.XXXXXX", to);
	auto_fd int fd = mkostemp(temp, O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, "%.150s", to);
	if (output_bytes(fd, text, strlen(text)) && fsync(fd) == 0 &&
	    rename(temp, to) == 0)
		return 0;
	err_errno(e, "%.150s", to);
	unlink(temp);
	return -1;
}

static int
make_directories(struct entry *n, struct err *e)
{
	const char *home = getenv("HOME");
	auto_free char *ssh = NULL;

	if (str_empty(home))
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "your home directory is not known: set HOME");
	ssh = xasprintf("%s/.ssh", home);
	n->dir = xasprintf("%s/sandlease", ssh);
	if ((mkdir(ssh, 0700) < 0 && errno != EEXIST) ||
	    (mkdir(n->dir, 0700) < 0 && errno != EEXIST))
		return err_errno(e, "%.150s", n->dir);
	return 0;
}

/* ---- the key to log in with */

static int
make_key(const char *file, struct err *e)
{
	char *argv[] = { xstrdup("ssh-keygen"), xstrdup("-q"), xstrdup("-t"),
		xstrdup("ed25519"), xstrdup("-N"), xstrdup(""), xstrdup("-C"),
		xstrdup("sandlease"), xstrdup("-f"), xstrdup(file), NULL };
	int status = -1;
	pid_t pid;

	errno = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	for (size_t i = 0; argv[i] != NULL; i++)
		free(argv[i]);
	if (errno != 0)
		return err_errno(e, "ssh-keygen cannot be run");
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (status != 0)
		return err_set(e, ERR_INTERNAL, CODE_CONFIG,
		    "ssh-keygen could not make %.150s", file);
	return 0;
}

static int
find_key(struct entry *n, struct err *e)
{
	const char *given = args_value(&n->cli->args, "identity");
	auto_free char *name = NULL;
	auto_buf struct buf text = { 0 };

	n->identity =
	    given != NULL ? realpath(given, NULL) : xasprintf("%s/key", n->dir);
	if (n->identity == NULL)
		return err_errno(e, "%.150s", given);
	if (given == NULL && access(n->identity, F_OK) < 0 &&
	    make_key(n->identity, e) < 0)
		return -1;
	name = xasprintf("%s.pub", n->identity);
	if (read_text(name, &text, e) < 0)
		return -1;
	text.data[strcspn(text.data, "\r\n")] = '\0';
	if (text.data[0] == '\0')
		return err_set(e, ERR_INVALID, CODE_CONFIG,
		    "there is no public key in %.150s", name);
	n->public_key = xstrdup(text.data);
	return 0;
}

/* ---- sshd in the session */

static int
set_up_sshd(struct entry *n, struct err *e)
{
	auto_json json_t *answer = NULL, *body = NULL;
	const char *out;

	body = json_pack("{s:s, s:s, s:{s:o}}", "command", SETUP, "sessionId",
	    "__DISABLE_SESSION__", "env", "PUBLIC_KEY",
	    json_lossy(n->public_key));
	if (session_call(n->cli->client, "POST", n->id, "/api/execute", body,
		&answer, e) < 0)
		return -1;
	if (json_integer_value(json_object_get(answer, "exitCode")) != 0)
		return err_set(e, ERR_UNAVAILABLE, CODE_FAILED, "%.200s",
		    json_str(answer, "stderr"));
	out = json_str(answer, "stdout");
	n->host_key = xasprintf("%.*s", (int)strcspn(out, "\r\n"), out);
	if (!str_starts(n->host_key, "ssh-ed25519 "))
		return err_set(e, ERR_BAD_GATEWAY, CODE_FAILED,
		    "the session sent no host key");
	return 0;
}

/* Writes the session's line of known_hosts, and removes an old one. */
static int
write_known_host(const struct entry *n, struct err *e)
{
	auto_free char *name = xasprintf("%s/known_hosts", n->dir);
	auto_buf struct buf old = { 0 }, text = { 0 };
	const char *line, *next;
	size_t alias = strlen(n->host);

	if (read_text(name, &old, e) < 0)
		return -1;
	for (line = old.data; *line != '\0'; line = next) {
		size_t len = strcspn(line, "\n");

		next = line + len + (line[len] == '\n');
		if (strncmp(line, n->host, alias) != 0 || line[alias] != ' ')
			buf_fmt(&text, "%.*s\n", (int)len, line);
	}
	buf_fmt(&text, "%s %s\n", n->host, n->host_key);
	return write_text(name, text.data, e);
}

/* ---- the entry */

/* Appends the common options of this call; file names become absolute. */
static void
add_common(const struct entry *n, struct buf *to)
{
	static const char *const NAMES[] = { "url", "profile", "api-key-file" };
	const char *profile = client_profile(n->cli->client);

	for (size_t i = 0; i < ARRAY_LEN(NAMES); i++) {
		const char *v = args_value(&n->cli->args, NAMES[i]);
		auto_free char *real = NULL;

		if (i == 1 && !str_equal(profile, CONFIG_DEFAULT))
			v = profile; /* may be from SANDLEASE_PROFILE */
		if (v != NULL && i == 2)
			real = realpath(v, NULL);
		if (v == NULL)
			continue;
		buf_fmt(to, " --%s ", NAMES[i]);
		quote_word(to, real != NULL ? real : v);
	}
}

static void
make_entry(struct entry *n)
{
	auto_buf struct buf proxy = { 0 };
	char self[PATH_MAX] = "";
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);

	quote_word(&proxy, len > 0 ? self : "sandlease");
	add_common(n, &proxy);
	buf_fmt(&proxy, " exec %s -- %s/start", n->id, INSIDE);
	buf_fmt(&n->text,
	    "Host %s\n"
	    "    User user\n"
	    "    HostKeyAlias %s\n"
	    "    ProxyCommand %s\n"
	    "    IdentityFile \"%s\"\n"
	    "    IdentitiesOnly yes\n"
	    "    UserKnownHostsFile \"%s/known_hosts\"\n"
	    "    StrictHostKeyChecking yes\n",
	    n->host, n->host, proxy.data, n->identity, n->dir);
}

/* Writes the entry to a file of its own, which ~/.ssh/config includes. */
static int
write_entry(const struct entry *n, struct err *e)
{
	auto_free char *file = xasprintf("%s/%s.conf", n->dir, n->host);
	auto_free char *config = xasprintf("%s/../config", n->dir);
	auto_buf struct buf old = { 0 }, text = { 0 };

	if (write_text(file, n->text.data, e) < 0 ||
	    read_text(config, &old, e) < 0)
		return -1;
	fprintf(stderr, "sandlease: ssh %s\n", n->host);
	if (strstr(old.data, INCLUDE) != NULL)
		return 0;
	/* at the beginning: after a Host line it would be part of that entry */
	buf_fmt(&text, "%s\n\n%s", INCLUDE, old.data);
	return write_text(config, text.data, e);
}

static int
show_entry(const struct entry *n)
{
	auto_json json_t *said = NULL;

	if (n->cli->json) {
		said = json_pack("{s:s, s:o}", "host", n->host, "entry",
		    json_lossy(n->text.data));
		show_json(said);
	} else {
		fputs(n->text.data, stdout);
	}
	return EXIT_SUCCESS;
}

static int
configure(struct entry *n, struct err *e)
{
	const char *host = args_value(&n->cli->args, "host");

	if (host != NULL && !config_profile_is_good(host))
		return err_set(e, ERR_INVALID, CODE_USAGE,
		    "--host takes letters, digits, '.', '_' and '-', not \"%.60s\"",
		    host);
	if (session_find(n->cli->client, n->cli->args.operand[0], n->id, e) < 0)
		return -1;
	n->host =
	    host != NULL ? xstrdup(host) : xasprintf("sandlease-%s", n->id);
	if (make_directories(n, e) < 0 || find_key(n, e) < 0 ||
	    set_up_sshd(n, e) < 0 || write_known_host(n, e) < 0)
		return -1;
	make_entry(n);
	if (!args_has(&n->cli->args, "write"))
		return show_entry(n);
	return write_entry(n, e);
}

int
cmd_ssh_config(struct cli *k, struct err *e)
{
	struct entry n = { .cli = k };
	int rc = configure(&n, e);

	free(n.host);
	free(n.dir);
	free(n.identity);
	free(n.public_key);
	free(n.host_key);
	buf_free(&n.text);
	return rc;
}
