/* unpack.c: extracts an archive from stdin into the working directory. */
#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/archive/pack.h"
#include "common/json.h"
#include "common/mem.h"
#include "common/str.h"

enum {
	BLOCK_BYTES = 256 * 1024,
	ENTRIES_MAX = 1000 * 1000,
	ENTRY_BYTES = 4096 /* each entry counts so much towards bytes_max */
};

/*
 * Modes are those of a new file: no set-uid, set-gid and sticky bits, not
 * writable for others.  Links are extracted as they are, but no entry is
 * written through a link.
 */
enum {
	FLAGS = ARCHIVE_EXTRACT_TIME | ARCHIVE_EXTRACT_SECURE_SYMLINKS |
	    ARCHIVE_EXTRACT_SECURE_NODOTDOT |
	    ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS
};

struct unpacking {
	struct archive *from, *to;
	int flags;
	int64_t entries_max;
	int64_t bytes_max; /* 0: any number */
	const char *mark;  /* an entry that must come, or NULL */
	bool durable;      /* sync everything before the report */
	bool marked;
	int64_t entries, bytes, skipped;
	char *name; /* owned; of the current entry, NULL: none yet */
	const char *message;
	int error; /* errno, 0: the archive is bad */
};

static int
bad_archive(struct unpacking *u)
{
	u->message = archive_error_string(u->from);
	u->error = archive_errno(u->from) == ENOMEM ? ENOMEM : 0;
	return -1;
}

/* Errors of the disk have an errno; refusals of libarchive have none. */
static int
bad_entry(struct unpacking *u)
{
	u->message = archive_error_string(u->to);
	u->error = archive_errno(u->to) > 0 ? archive_errno(u->to) : 0;
	return -1;
}

static int
check_room(struct unpacking *u)
{
	if (u->bytes_max == 0 ||
	    u->bytes + u->entries * ENTRY_BYTES <= u->bytes_max)
		return 0;
	u->message = "the archive is larger than allowed";
	u->error = ENOSPC;
	return -1;
}

static int
copy_data(struct unpacking *u)
{
	const void *data;
	la_int64_t at;
	size_t len;
	int rc;

	while ((rc = archive_read_data_block(u->from, &data, &len, &at)) ==
	    ARCHIVE_OK) {
		/* libarchive returns ARCHIVE_WARN also for a failed write */
		if (archive_write_data_block(u->to, data, len, at) < ARCHIVE_OK)
			return bad_entry(u);
		u->bytes += (int64_t)len;
		if (check_room(u) < 0)
			return -1;
	}
	return rc == ARCHIVE_EOF ? 0 : bad_archive(u);
}

/* Devices, sockets and fifos are skipped. */
static bool
is_wanted(struct archive_entry *entry)
{
	mode_t type = archive_entry_filetype(entry);

	return type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK ||
	    archive_entry_hardlink(entry) != NULL;
}

static int
unpack_entry(struct unpacking *u, struct archive_entry *entry)
{
	const char *name = archive_entry_pathname(entry);

	free(u->name);
	u->name = name != NULL ? xstrdup(name) : NULL;
	if (u->entries + u->skipped == u->entries_max) {
		u->message = "the archive has too many entries";
		return -1;
	}
	if (u->mark != NULL && name != NULL && str_equal(name, u->mark)) {
		u->marked = true;
		return 0;
	}
	if (!is_wanted(entry)) {
		u->skipped++;
		return 0;
	}
	if (archive_write_header(u->to, entry) < ARCHIVE_WARN)
		return bad_entry(u);
	if (copy_data(u) < 0) {
		if (archive_entry_filetype(entry) == AE_IFREG)
			unlink(u->name); /* a truncated file looks complete */
		return -1;
	}
	if (archive_write_finish_entry(u->to) < ARCHIVE_WARN)
		return bad_entry(u);
	u->entries++;
	return check_room(u);
}

static int
extract_all(struct unpacking *u)
{
	struct archive_entry *entry;
	int rc;

	archive_read_support_format_tar(u->from);
	archive_read_support_filter_gzip(u->from);
	archive_read_support_filter_zstd(u->from);
	archive_write_disk_set_options(u->to, u->flags);
	if (archive_read_open_fd(u->from, STDIN_FILENO, BLOCK_BYTES) !=
	    ARCHIVE_OK)
		return bad_archive(u);
	while (
	    (rc = archive_read_next_header(u->from, &entry)) != ARCHIVE_EOF) {
		if (rc < ARCHIVE_WARN)
			return bad_archive(u);
		if (unpack_entry(u, entry) < 0)
			return -1;
	}
	if (u->mark != NULL && !u->marked) {
		u->message = "the archive is incomplete";
		return -1;
	}
	/* close sets the times of directories */
	if (archive_write_close(u->to) < ARCHIVE_WARN)
		return bad_entry(u);
	return 0;
}

/*
 * One syncfs() for any number of files.  It also waits for what others write to
 * this file system.
 */
static int
sync_all(struct unpacking *u)
{
	auto_fd int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (here >= 0 && syncfs(here) == 0)
		return 0;
	u->message = "the files cannot be synced to the disk";
	u->error = errno;
	return -1;
}

static void
write_report(const struct unpacking *u, bool ok)
{
	auto_free char *text = NULL;
	auto_json json_t *said = json_pack("{s:I, s:I, s:I}", "entries",
	    (json_int_t)u->entries, "bytes", (json_int_t)u->bytes, "skipped",
	    (json_int_t)u->skipped);

	if (!ok)
		pack_blame(said,
		    &(struct pack_fault){ u->name, u->message, u->error });
	text = json_text(said);
	fputs(text, stdout);
	fflush(stdout);
}

static int
run_unpacking(struct unpacking *u)
{
	static char rest[4096];
	bool ok;

	u->from = archive_read_new();
	u->to = archive_write_disk_new();
	signal(SIGXFSZ, SIG_IGN); /* write() then fails with EFBIG */
	umask(022);
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	ok = extract_all(u) == 0 && (!u->durable || sync_all(u) == 0);
	write_report(u, ok);
	/* an error is ignored: without a report the job counts as failed */
	if (u->durable)
		(void)!fsync(STDOUT_FILENO);
	/* drain stdin: bytes after the archive's end must not cause EPIPE */
	while (ok && read(STDIN_FILENO, rest, sizeof(rest)) > 0)
		;
	archive_read_free(u->from);
	archive_write_free(u->to);
	free(u->name);
	return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
unpack_main(void)
{
	return run_unpacking(
	    &(struct unpacking){ .flags = FLAGS, .entries_max = ENTRIES_MAX });
}

int
restore_main(void)
{
	return run_unpacking(
	    &(struct unpacking){ .flags = FLAGS | ARCHIVE_EXTRACT_PERM,
		.entries_max = INT64_MAX });
}

int
receive_main(int64_t bytes_max, int64_t seconds)
{
	/* the sender may never close its end */
	alarm((unsigned)seconds);
	return run_unpacking(
	    &(struct unpacking){ .flags = FLAGS | ARCHIVE_EXTRACT_PERM,
		.entries_max = ENTRIES_MAX,
		.bytes_max = bytes_max,
		.mark = PACK_MARK,
		.durable = true });
}
