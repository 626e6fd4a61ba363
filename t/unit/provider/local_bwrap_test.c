/* local_bwrap_test.c: tests bwrap's whole command line, without running it. */
#include "../unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "provider/local/bwrap.h"

static const char *const DIRS[] = { "usr", "opt", "etc", "home", "root", "run",
	"sys", "tmp", "proc", "dev" };
static const struct {
	const char *name, *target;
} LINKS[] = { { "bin", "usr/bin" },
	{ "etc/localtime", "/usr/share/zoneinfo/UTC" } };

/* Makes a rootfs with directories, links, and things that must not be bound. */
static void
make_rootfs(const char *dir)
{
	auto_free char *file = xasprintf("%s/etc/ld.so.cache", dir);

	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, DIRS[i]);

		assert_int_equal(mkdir(path, 0755), 0);
	}
	for (size_t i = 0; i < ARRAY_LEN(LINKS); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, LINKS[i].name);

		assert_int_equal(symlink(LINKS[i].target, path), 0);
	}
	close(open(file, O_WRONLY | O_CREAT, 0644));
}

static void
remove_rootfs(const char *dir)
{
	auto_free char *file = xasprintf("%s/etc/ld.so.cache", dir);

	unlink(file);
	for (size_t i = 0; i < ARRAY_LEN(LINKS); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, LINKS[i].name);

		unlink(path);
	}
	for (size_t i = 0; i < ARRAY_LEN(DIRS); i++) {
		auto_free char *path = xasprintf("%s/%s", dir, DIRS[i]);

		rmdir(path);
	}
	rmdir(dir);
}

static struct bwrap_spec
spec(const char *root)
{
	return (struct bwrap_spec){ .bwrap = "/usr/bin/bwrap",
		.agent = "/opt/agent",
		.ws = "/opt/ws",
		.storage = "/st/storage/x",
		.root = root,
		.sandbox = "ses-1",
		.incarnation = "aaaa",
		.log_level = "info",
		.log_format = "kv",
		.log_kb = 64,
		.tmp_bytes = 4096 };
}

/* All words, with spaces between; `root` is written as ROOT. */
static char *
joined(const struct bwrap_argv *a, const char *root)
{
	struct buf b = { 0 };

	for (size_t i = 0; i < a->count; i++) {
		const char *word = a->v[i];

		buf_str(&b, i > 0 ? " " : "");
		if (str_starts(word, root)) {
			buf_str(&b, "ROOT");
			word += strlen(root);
		}
		buf_str(&b, word);
	}
	return b.data;
}

static void
the_command_line_is_exactly_this(void **state)
{
	static const char WANT[] =
	    "/usr/bin/bwrap --unshare-user --unshare-pid --unshare-ipc"
	    " --unshare-uts --unshare-net --unshare-cgroup --disable-userns"
	    " --as-pid-1 --new-session --clearenv"
	    " --setenv PATH /usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin"
	    " --setenv LANG C.UTF-8 --hostname sandbox"
	    " --cap-drop ALL --cap-add CAP_SYS_ADMIN --cap-add CAP_NET_ADMIN"
	    " --cap-add CAP_NET_BIND_SERVICE"
	    " --cap-add CAP_SYS_RESOURCE --cap-add CAP_DAC_READ_SEARCH"
	    " --cap-add CAP_SYS_PTRACE --dir /etc"
	    " --symlink ../usr/lib/os-release /etc/os-release --uid 1000 --gid 1000"
	    " --symlink usr/bin /bin --ro-bind ROOT/opt /opt --ro-bind ROOT/usr /usr"
	    " --ro-bind ROOT/etc/ld.so.cache /etc/ld.so.cache"
	    " --symlink /usr/share/zoneinfo/UTC /etc/localtime"
	    " --perms 0444 --file 6 /etc/passwd --perms 0444 --file 7 /etc/group"
	    " --perms 0444 --file 8 /etc/hosts --perms 0444 --file 9 /etc/nsswitch.conf"
	    " --perms 0444 --file 10 /etc/profile --perms 0444 --file 11 /etc/bash.bashrc"
	    " --proc /proc --dev /dev"
	    " --remount-ro /dev --dir /home/user --dir /workspace --dir /sys"
	    " --dir /var/backups --symlink /tmp /var/tmp"
	    " --size 4096 --tmpfs /tmp --bind /st/storage/x /sessions"
	    " --ro-bind /opt/agent /sandlease-agent"
	    " --ro-bind-try /opt/ws /sandlease-ws --remount-ro / --chdir /"
	    " --info-fd 12 -- /sandlease-agent init --control-fd 3"
	    " --incarnation aaaa --sandbox ses-1 --log-level info"
	    " --log-format kv --log-kb 64";
	char dir[] = "/tmp/slrootXXXXXX";
	auto_argv struct bwrap_argv a = { 0 };
	auto_free char *got = NULL;
	struct bwrap_spec s;
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	make_rootfs(dir);
	s = spec(dir);
	assert_int_equal(bwrap_argv(&s, &a, &e), 0);
	remove_rootfs(dir);
	assert_null(a.v[a.count]);
	got = joined(&a, dir);
	assert_string_equal(got, WANT);
}

/* The whole root lies below the cells' own changes; init sees no file of it. */
static void
a_root_that_may_be_changed_is_bound_whole_and_read_only(void **state)
{
	static const char WANT[] =
	    " --cap-add CAP_SYS_PTRACE --dir /etc"
	    " --symlink ../usr/lib/os-release /etc/os-release --uid 0 --gid 0"
	    " --cap-add CAP_DAC_OVERRIDE --cap-add CAP_CHOWN"
	    " --cap-add CAP_FOWNER --cap-add CAP_MKNOD --cap-add CAP_SETPCAP"
	    " --dir /cell --ro-bind ROOT /lower"
	    " --perms 0444 --file 6 /etc/passwd --perms 0444 --file 7 /etc/group"
	    " --perms 0444 --file 8 /etc/hosts --perms 0444 --file 9 /etc/nsswitch.conf"
	    " --perms 0444 --file 10 /etc/profile --perms 0444 --file 11 /etc/bash.bashrc"
	    " --proc /proc --dev /dev"
	    " --remount-ro /dev --size 4096 --tmpfs /tmp"
	    " --bind /st/storage/x /sessions"
	    " --ro-bind /opt/agent /sandlease-agent"
	    " --ro-bind-try /opt/ws /sandlease-ws --remount-ro / --chdir /"
	    " --info-fd 12 -- /sandlease-agent init --control-fd 3"
	    " --incarnation aaaa --sandbox ses-1 --log-level info"
	    " --log-format kv --log-kb 64 --writable-root yes";
	char dir[] = "/tmp/slrootXXXXXX";
	auto_argv struct bwrap_argv a = { 0 };
	auto_free char *got = NULL;
	struct bwrap_spec s;
	struct err e = { 0 };
	const char *tail;

	(void)state;
	assert_non_null(mkdtemp(dir));
	make_rootfs(dir);
	s = spec(dir);
	s.writable_root = true;
	assert_int_equal(bwrap_argv(&s, &a, &e), 0);
	remove_rootfs(dir);
	got = joined(&a, dir);
	tail = strstr(got, " --cap-add CAP_SYS_PTRACE");
	assert_non_null(tail);
	assert_string_equal(tail, WANT);
}

/* Files owned by root could not be changed inside, for no visible reason. */
static void
a_root_of_another_user_cannot_be_changed(void **state)
{
	char dir[] = "/tmp/slrootXXXXXX";
	struct bwrap_argv a = { 0 };
	struct bwrap_spec s;
	struct err e = { 0 };

	(void)state;
	assert_non_null(mkdtemp(dir));
	/* only root can chown; other users take /usr, which is root's */
	s = spec(chown(dir, 1, 1) == 0 ? dir : "/usr");
	s.writable_root = true;
	assert_int_equal(bwrap_argv(&s, &a, &e), -1);
	rmdir(dir);
	assert_code(e.code, CODE_NO_ROOTFS);
	assert_non_null(strstr(e.msg, "another user"));
}

/* On any host. */
static void
of_the_host_only_system_directories_are_bound(void **state)
{
	static const char *const ALLOWED[] = { "/usr", "/bin", "/sbin", "/lib",
		"/etc/", "/st/storage/x", "/opt/agent", "/opt/ws" };
	auto_argv struct bwrap_argv a = { 0 };
	struct bwrap_spec s = spec("");
	struct err e = { 0 };
	size_t binds = 0;

	(void)state;
	assert_int_equal(bwrap_argv(&s, &a, &e), 0);
	for (size_t i = 0; i + 2 < a.count; i++) {
		bool allowed = false;

		if (strstr(a.v[i], "bind") == NULL || a.v[i][0] != '-')
			continue;
		for (size_t k = 0; k < ARRAY_LEN(ALLOWED); k++)
			allowed = allowed || str_starts(a.v[i + 1], ALLOWED[k]);
		if (!allowed)
			fail_msg("%s %s", a.v[i], a.v[i + 1]);
		/* nothing of the host can be written except the storage */
		if (str_equal(a.v[i], "--bind"))
			assert_string_equal(a.v[i + 1], "/st/storage/x");
		binds++;
	}
	assert_true(binds > 3);
}

static void
our_own_launcher_gets_the_same_words(void **state)
{
	for (int may_fall_back = 0; may_fall_back < 2; may_fall_back++) {
		auto_argv struct bwrap_argv a = { 0 }, own = { 0 };
		size_t first = may_fall_back ? 5 : 3;
		struct bwrap_spec s = spec("");
		struct err e = { 0 };

		(void)state;
		assert_int_equal(bwrap_argv(&s, &a, &e), 0);
		assert_int_equal(bwrap_argv(&s, &own, &e), 0);
		bwrap_argv_own(&own, "/opt/launch", 14, may_fall_back);
		assert_string_equal(own.v[0], "/opt/launch");
		assert_string_equal(own.v[1], "--go-fd");
		assert_string_equal(own.v[2], "14");
		if (may_fall_back) {
			assert_string_equal(own.v[3], "--else");
			assert_string_equal(own.v[4], "/usr/bin/bwrap");
		}
		/* then comes all of bwrap's command line but its name */
		assert_int_equal(own.count - first, a.count - 1);
		for (size_t i = 1; i <= a.count; i++)
			if (i == a.count)
				assert_null(own.v[first + i - 1]);
			else
				assert_string_equal(own.v[first + i - 1],
				    a.v[i]);
	}
}

static void
a_rootfs_that_is_not_there_is_one_clear_error(void **state)
{
	struct bwrap_spec s = spec("/nonexistent/rootfs");
	struct bwrap_argv a = { 0 };
	struct err e = { 0 };

	(void)state;
	assert_int_equal(bwrap_argv(&s, &a, &e), -1);
	assert_code(e.code, CODE_NO_ROOTFS);
	assert_int_equal(a.count, 0);
}

static void
the_files_of_etc_know_our_user_and_no_secret(void **state)
{
	(void)state;
	assert_non_null(strstr(BWRAP_FILES[BWRAP_FD_PASSWD],
	    "user:x:1000:1000:user:/home/user:"));
	assert_non_null(strstr(BWRAP_FILES[BWRAP_FD_GROUP], "user:x:1000:"));
	assert_non_null(
	    strstr(BWRAP_FILES[BWRAP_FD_HOSTS], "127.0.0.1 localhost"));
	assert_null(BWRAP_FILES[BWRAP_FD_CONTROL]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_command_line_is_exactly_this),
		cmocka_unit_test(
		    a_root_that_may_be_changed_is_bound_whole_and_read_only),
		cmocka_unit_test(a_root_of_another_user_cannot_be_changed),
		cmocka_unit_test(of_the_host_only_system_directories_are_bound),
		cmocka_unit_test(our_own_launcher_gets_the_same_words),
		cmocka_unit_test(a_rootfs_that_is_not_there_is_one_clear_error),
		cmocka_unit_test(the_files_of_etc_know_our_user_and_no_secret),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
