/* artifact.c: keeps files that executions have left, by the hash of their bytes. */
#include "provider/store/artifact.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>

#include "common/id.h"
#include "common/mem.h"
#include "common/str.h"
#include "common/token.h"
#include "provider/host/file.h"

enum {
	UNKNOWN_SECONDS = 3600, /* so long may a file be without a row */
	SLOT_MAX = 3,
	NAME_MAX_BYTES = DIGEST_HEX_MAX + 8
};

#define HEX "0123456789abcdef"
#define UNFINISHED "new-" /* of a file that is being written */
#define GOING ".gone"     /* of one that is about to be removed */

void
artifact_org(const char *tenant, char out[ARTIFACT_ORG_MAX])
{
	char hash[TOKEN_HASH_HEX_MAX];

	token_hash(tenant, hash);
	snprintf(out, ARTIFACT_ORG_MAX, "%.*s", ARTIFACT_ORG_MAX - 1, hash);
}

static int
open_top(const struct conf *conf, struct err *e)
{
	auto_free char *inside = xasprintf("%s/artifacts", conf->state_dir);

	return file_dir(AT_FDCWD,
	    conf->artifact_dir[0] != '\0' ? conf->artifact_dir : inside, 0700,
	    e);
}

/* The slot of a hash, as the name of a directory. */
static void
slot_of(const char *hash, char out[SLOT_MAX])
{
	snprintf(out, SLOT_MAX, "%.2s", hash);
}

/* ---- writing */

static int
check_room(int dir, int64_t low_mb, struct err *e)
{
	struct statvfs v;

	if (fstatvfs(dir, &v) < 0)
		return err_errno(e, "statvfs");
	if ((int64_t)v.f_bavail * (int64_t)v.f_frsize < low_mb << 20)
		return err_set(e, ERR_NO_SPACE, CODE_INSUFFICIENT_STORAGE,
		    "this host has too little free space");
	return 0;
}

int
artifact_begin(const struct conf *conf, const char *org,
    struct artifact_file *f, struct err *e)
{
	auto_fd int top = open_top(conf, e);
	char random[ID_MAX];

	*f = (struct artifact_file)ARTIFACT_NONE;
	if (top < 0 || check_room(top, conf->disk_low_mb, e) < 0)
		return -1;
	f->dir = file_dir(top, org, 0700, e);
	if (f->dir < 0)
		return -1;
	id_random(random, ID_SESSION_LEN);
	snprintf(f->temp, sizeof(f->temp), UNFINISHED "%s", random);
	f->fd = openat(f->dir, f->temp,
	    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (f->fd < 0) {
		f->temp[0] = '\0';
		return err_errno(e, "artifact");
	}
	digest_begin(&f->digest);
	return 0;
}

int
artifact_add(struct artifact_file *f, const char *data, size_t len,
    struct err *e)
{
	digest_add(&f->digest, data, len);
	f->bytes += (int64_t)len;
	while (len > 0) {
		ssize_t n = write(f->fd, data, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return err_errno(e, "artifact");
		data += n;
		len -= (size_t)n;
	}
	return 0;
}

/*
 * Whether the same bytes are there already, and stay: a file without a row is
 * removed an hour after it was touched.
 */
static bool
touch_old(int slot, const char *hash)
{
	struct timespec now[2] = { { .tv_nsec = UTIME_NOW },
		{ .tv_nsec = UTIME_NOW } };
	struct stat st;

	/* after the touch: the sweep renames first, then looks at the time */
	return utimensat(slot, hash, now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    fstatat(slot, hash, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

int
artifact_end(struct artifact_file *f, bool durable, char hash[DIGEST_HEX_MAX],
    struct err *e)
{
	char slot_name[SLOT_MAX];
	auto_fd int slot = -1;

	digest_end(&f->digest, hash);
	slot_of(hash, slot_name);
	slot = file_dir(f->dir, slot_name, 0700, e);
	if (slot < 0)
		return -1;
	if (touch_old(slot, hash))
		return 0;
	if ((durable && fdatasync(f->fd) < 0) ||
	    renameat(f->dir, f->temp, slot, hash) < 0 ||
	    (durable && fsync(slot) < 0))
		return err_errno(e, "artifact");
	f->temp[0] = '\0';
	return 0;
}

void
artifact_drop(struct artifact_file *f)
{
	if (f->temp[0] != '\0')
		(void)unlinkat(f->dir, f->temp, 0);
	f->temp[0] = '\0';
	mem_close_fd(&f->fd);
	mem_close_fd(&f->dir);
}

/* ---- reading */

static bool
is_hash(const char *name)
{
	return str_made_of(name, HEX, DIGEST_HEX_MAX - 1, DIGEST_HEX_MAX - 1);
}

int
artifact_open(const struct conf *conf, const char *org, const char *hash,
    struct err *e)
{
	auto_fd int top = open_top(conf, e);
	char path[ARTIFACT_ORG_MAX + SLOT_MAX + DIGEST_HEX_MAX];
	int fd;

	if (top < 0)
		return -1;
	snprintf(path, sizeof(path), "%s/%.2s/%s", org, hash, hash);
	fd = is_hash(hash)
	    ? openat(top, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC)
	    : -1;
	if (fd < 0)
		return err_set(e, ERR_GONE, CODE_ARTIFACT_GONE,
		    "the file is not kept any more");
	return fd;
}

/* ---- removing */

static bool
is_old(int dir, const char *name)
{
	struct stat st;

	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    time(NULL) - st.st_mtime > UNKNOWN_SECONDS;
}

/*
 * A writer of the same bytes may be about to write a row.  It has touched the
 * file before, or finds it renamed and writes its own.
 */
static int
remove_unknown(int slot, const char *org, const char *hash,
    artifact_known_fn *is_known, void *ctx, int64_t *removed, struct err *e)
{
	char going[NAME_MAX_BYTES];
	int known = is_known(ctx, org, hash, e);

	if (known != 0)
		return known < 0 ? -1 : 0;
	snprintf(going, sizeof(going), "%s" GOING, hash);
	if (renameat(slot, hash, slot, going) < 0)
		return 0;
	known = is_old(slot, going) ? is_known(ctx, org, hash, e) : 1;
	if (known != 0) {
		(void)!renameat(slot, going, slot, hash);
		return known < 0 ? -1 : 0;
	}
	if (unlinkat(slot, going, 0) == 0)
		(*removed)++;
	return 0;
}

static int
sweep_slot(int dir, const char *org, const char *slot_name,
    artifact_known_fn *is_known, void *ctx, int64_t *removed, struct err *e)
{
	auto_names char **names = NULL;
	auto_fd int slot = -1;
	bool found;

	slot = file_opendir(dir, slot_name, &found, e);
	if (slot < 0)
		return found ? -1 : 0;
	if (file_names(slot, ".", &names, e) < 0)
		return -1;
	for (char **name = names; *name != NULL; name++)
		if (!is_old(slot, *name))
			continue;
		else if (!is_hash(*name))
			(void)unlinkat(slot, *name, 0);
		else if (remove_unknown(slot, org, *name, is_known, ctx,
			     removed, e) < 0)
			return -1;
	return 0;
}

/* Files whose writer died. */
static int
remove_unfinished(int dir, struct err *e)
{
	auto_names char **names = NULL;

	if (file_names(dir, ".", &names, e) < 0)
		return -1;
	for (char **name = names; *name != NULL; name++)
		if (str_starts(*name, UNFINISHED) && is_old(dir, *name))
			(void)unlinkat(dir, *name, 0);
	return 0;
}

int
artifact_sweep(const struct conf *conf, int slot, artifact_known_fn *is_known,
    void *ctx, int64_t *removed, struct err *e)
{
	auto_fd int top = open_top(conf, e);
	auto_names char **orgs = NULL;
	char slot_name[SLOT_MAX];

	snprintf(slot_name, sizeof(slot_name), "%02x", slot & 0xff);
	if (top < 0 || file_names(top, ".", &orgs, e) < 0)
		return -1;
	for (char **org = orgs; *org != NULL; org++) {
		auto_fd int dir = -1;
		bool found;

		if (!str_made_of(*org, HEX, ARTIFACT_ORG_MAX - 1,
			ARTIFACT_ORG_MAX - 1))
			continue;
		dir = file_opendir(top, *org, &found, e);
		if (dir < 0 && found)
			return -1;
		if (dir >= 0 &&
		    ((slot == 0 && remove_unfinished(dir, e) < 0) ||
			sweep_slot(dir, *org, slot_name, is_known, ctx, removed,
			    e) < 0))
			return -1;
	}
	return 0;
}
