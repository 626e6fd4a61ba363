/* backup.c: packs a directory into one archive file. */
#include "agent/archive/backup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/archive/backup_internal.h"
#include "agent/archive/ignored.h"
#include "agent/files/temp_file.h"
#include "common/mem.h"

enum {
	ARCHIVE_MODE = 0644,
	THREADS_MAX = 16,
	NUMBER_MAX = 16,
	BROKEN_PIPE = 128 + SIGPIPE
};

/*
 * For each format the options of mksquashfs, and the nearest tar format if
 * mksquashfs is missing.  Its default levels, 9 and 15, take minutes where
 * these take seconds.  lz4 has no levels: it gets the default block size, so
 * that each row has an option.
 */
static const struct {
	const char *squashed, *option, *value, *plain;
} FORMATS[] = {
	[BACKUP_GZIP] = { "gzip", "-Xcompression-level", "4", "tar.gz" },
	[BACKUP_LZ4] = { "lz4", "-b", "128K", "tar.zst" },
	[BACKUP_ZSTD] = { "zstd", "-Xcompression-level", "3", "tar.zst" },
};

/* An unfinished archive and the helpers that write it. */
struct backup_work {
	const struct backup *b;
	const struct helper_boss *boss;
	struct helper packer; /* `backup` of pack.h */
	struct helper
	    squasher; /* mksquashfs, reads the packer's tar; or none */
	struct temp_file temp;
	struct buf packer_said, squasher_said;
	int packer_status, squasher_status;
};

static void
backup_work_end(struct backup_work *m)
{
	helper_end(&m->packer);
	helper_end(&m->squasher);
	temp_file_drop(&m->temp);
	buf_free(&m->packer_said);
	buf_free(&m->squasher_said);
}

/* ---- helpers */

static int
start_squasher(struct backup_work *m, struct err *e)
{
	char threads[NUMBER_MAX], mode[NUMBER_MAX];
	const char *argv[] = { BACKUP_MKSQUASHFS, "-", m->temp.temp, "-tar",
		"-noappend", "-quiet", "-no-progress", "-no-xattrs", "-mem",
		"64M", "-comp", FORMATS[m->b->format].squashed,
		FORMATS[m->b->format].option, FORMATS[m->b->format].value,
		"-processors", threads, "-root-mode", mode, NULL };
	auto_fd int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct stat st;

	if (null < 0 || stat(m->b->dir, &st) < 0)
		return files_fail(e, m->b->dir);
	snprintf(threads, sizeof(threads), "%d",
	    m->b->threads < THREADS_MAX ? m->b->threads : THREADS_MAX);
	snprintf(mode, sizeof(mode), "%o", (unsigned)(st.st_mode & 0777));
	return helper_start(&m->squasher,
	    &(struct helper_plan){ argv, "/", HELPER_PIPE, null, HELPER_PIPE },
	    e);
}

static int
start_packer(struct backup_work *m, const char *format, int out, struct err *e)
{
	const char *argv[] = { "/proc/self/exe", "backup", format, NULL };

	return helper_start(&m->packer,
	    &(struct helper_plan){ argv, m->b->dir, HELPER_PIPE, out,
		HELPER_PIPE },
	    e);
}

static int
start_helpers(struct backup_work *m, struct err *e)
{
	if (access(BACKUP_MKSQUASHFS, X_OK) < 0)
		return start_packer(m, FORMATS[m->b->format].plain, m->temp.fd,
		    e);
	if (start_squasher(m, e) < 0 ||
	    start_packer(m, "dense", m->squasher.in, e) < 0)
		return -1;
	mem_close_fd(&m->squasher.in); /* end of file comes from the packer */
	return 0;
}

/* ---- omitted files (omit.h) */

static void
add_excludes(struct buf *to, const json_t *excludes)
{
	const json_t *one;
	size_t i;

	json_array_foreach(excludes, i, one)
	{
		buf_str(to, json_string_value(one));
		buf_add(to, "", 1);
	}
	buf_add(to, "", 1);
}

static void
add_path(struct buf *to, const struct backup *b, const char *path)
{
	const char *below = files_below(path, b->dir);

	if (below != NULL)
		buf_add(to, below, strlen(below) + 1);
}

/* Omits the wrapper's own files. */
static void
add_ours(struct buf *to, const struct backup *b)
{
	for (size_t i = 0; b->ours[i] != NULL; i++)
		add_path(to, b, b->ours[i]);
}

/* Write errors are ignored: wait_for_both() reports a packer that has died. */
static int
send_omitted(struct backup_work *m, struct err *e)
{
	auto_buf struct buf text = { 0 };
	int rc = 0;

	add_excludes(&text, m->b->excludes);
	add_ours(&text, m->b);
	if (files_put(m->packer.in, text.data, text.len) == 0 &&
	    m->b->gitignore)
		rc = ignored_send(m->b->dir, m->packer.in, m->boss, e);
	mem_close_fd(&m->packer.in);
	return rc;
}

/* ---- the archive */

static int
wait_for_both(struct backup_work *m, struct err *e)
{
	/*
	 * First mksquashfs, whose stderr must be drained: it may have a line
	 * for every file.  The packer writes one line at most.
	 */
	if (m->squasher.child.pid > 0 &&
	    helper_watch(&m->squasher, m->boss, m->squasher.err,
		&m->squasher_said, &m->squasher_status, e) < 0)
		return -1;
	if (helper_watch(&m->packer, m->boss, m->packer.err, &m->packer_said,
		&m->packer_status, e) < 0)
		return -1;
	/* a packer that died of SIGPIPE is not the cause: mksquashfs is */
	if (m->packer_status != 0 && m->packer_status != BROKEN_PIPE)
		return backup_blame_ours(&m->packer_said, m->b->dir, e);
	if (m->squasher_status != 0)
		return backup_blame_theirs(&m->squasher_said,
		    m->squasher_status, m->b->archive, e);
	return m->packer_status == 0 ? 0
				     : err_set(e, ERR_INTERNAL, CODE_NONE,
					   "mksquashfs did not read all files");
}

static int
make_archive(struct backup_work *m, int64_t *size, struct err *e)
{
	struct stat st;

	if (temp_file_open(&m->temp, m->b->archive, ARCHIVE_MODE, e) < 0)
		return -1;
	if (start_helpers(m, e) < 0 || send_omitted(m, e) < 0 ||
	    wait_for_both(m, e) < 0)
		return -1;
	if (stat(m->temp.temp, &st) < 0)
		return files_fail(e, m->b->archive);
	*size = st.st_size;
	return temp_file_commit(&m->temp, false, e);
}

int
backup_create(const struct backup *b, const struct helper_boss *boss,
    int64_t *size, struct err *e)
{
	__attribute__((
	    cleanup(backup_work_end))) struct backup_work m = { .b = b,
		.boss = boss,
		.packer = HELPER_NONE,
		.squasher = HELPER_NONE,
		.temp = { .fd = -1, .beside = true } };
	struct stat st;

	if (stat(b->dir, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_INTERNAL, CODE_BACKUP_CREATE_FAILED,
		    "%.150s does not exist or is not a directory", b->dir);
	if (make_archive(&m, size, e) == 0)
		return 0;
	return backup_failed(CODE_BACKUP_CREATE_FAILED, e);
}
