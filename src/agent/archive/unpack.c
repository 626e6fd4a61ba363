/* unpack.c: an archive on stdin, into this directory and nowhere else. */
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
	ENTRY_BYTES = 4096 /* that each takes at least, of a limit */
};

/*
 * Modes are as for a new file: without the set-uid and its kin, and not
 * writable for others.  Links are made as they are, but nothing goes through
 * one.
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
	bool durable;      /* all of it, before anything is said */
	bool marked;
	int64_t entries, bytes, skipped;
	char *name; /* owned; of the present entry, NULL: none yet */
	const char *message;
	int error; /* 0: the archive is to blame */
};

static int
bad_archive(struct unpacking *u)
{
	u->message = archive_error_string(u->from);
	u->error = archive_errno(u->from) == ENOMEM ? ENOMEM : 0;
	return -1;
}

/* The disk's errors have numbers, the refusals of libarchive have none. */
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
	u->message = "it is larger than it may be";
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
		/* a write that failed is only a warning to it */
		if (archive_write_data_block(u->to, data, len, at) < ARCHIVE_OK)
			return bad_entry(u);
		u->bytes += (int64_t)len;
		if (check_room(u) < 0)
			return -1;
	}
	return rc == ARCHIVE_EOF ? 0 : bad_archive(u);
}

/* Devices, sockets and fifos stay where they are. */
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
			unlink(u->name); /* half a file is worse than none */
		return -1;
	}
	if (archive_write_finish_entry(u->to) < ARCHIVE_WARN)
		return bad_entry(u);
	u->entries++;
	return check_room(u);
}

static int
unpack(struct unpacking *u)
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
		u->message = "it ended before all was sent";
		return -1;
	}
	/* times of directories are set at the end */
	if (archive_write_close(u->to) < ARCHIVE_WARN)
		return bad_entry(u);
	return 0;
}

/* One call for any number of files; it lasts as long as others write, too. */
static int
sync_all(struct unpacking *u)
{
	auto_fd int here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (here >= 0 && syncfs(here) == 0)
		return 0;
	u->message = "it cannot be made durable";
	u->error = errno;
	return -1;
}

static void
report(const struct unpacking *u, bool ok)
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
	signal(SIGXFSZ, SIG_IGN); /* a file too large is an error of its own */
	umask(022);
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	ok = unpack(u) == 0 && (!u->durable || sync_all(u) == 0);
	report(u, ok);
	if (u->durable)
		(void)!fsync(STDOUT_FILENO); /* what is lost is told as lost */
	/* what follows the archive's end was sent, so it is taken */
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
	/* whoever sends may never end */
	alarm((unsigned)seconds);
	return run_unpacking(
	    &(struct unpacking){ .flags = FLAGS | ARCHIVE_EXTRACT_PERM,
		.entries_max = ENTRIES_MAX,
		.bytes_max = bytes_max,
		.mark = PACK_MARK,
		.durable = true });
}
