/* pack.c: writes a directory as an archive to stdout. */
#include "agent/archive/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/archive/omit.h"
#include "agent/files/files.h"
#include "agent/files/secret_list.h"
#include "common/mem.h"
#include "common/str.h"

enum { BLOCK_BYTES = 64 * 1024, TEXT_MAX = 4096 };

/* dense: writes holes as zeros, for a reader without support of sparse tars. */
static const struct format {
	const char *name;
	int (*filter)(struct archive *a);
	bool dense;
} FORMATS[] = {
	{ "tar", archive_write_add_filter_none, false },
	{ "tar.gz", archive_write_add_filter_gzip, false },
	{ "tar.zst", archive_write_add_filter_zstd, false },
	{ "dense", archive_write_add_filter_none, true },
};

struct packing {
	const struct format *format;
	struct archive *from, *to;
	struct archive_entry *entry;              /* the current one */
	struct archive_entry_linkresolver *links; /* by device and inode */
	int64_t written;                          /* of the current file */
	const struct omit *omit;                  /* or NULL */
	/* omits this path and temporary files; or NULL */
	const char *without;
	bool no_secrets; /* omits secret files of executions */
	bool exact;      /* times to the nanosecond */
};

/* A piece of a file; holes lie between pieces. */
struct piece {
	const void *data;
	size_t len;
	la_int64_t at;
};

/* Truncates: tenants and archives may use names of any length. */
static void
add_text(json_t *to, const char *name, const char *text)
{
	auto_free char *some = xasprintf("%.*s", TEXT_MAX, text);

	json_object_set_new(to, name, json_lossy(some));
}

void
pack_blame(json_t *said, const struct pack_fault *f)
{
	json_object_set_new(said, "errno", json_integer(f->error));
	add_text(said, "message",
	    f->message != NULL ? f->message : "cannot be read");
	if (f->entry != NULL)
		add_text(said, "entry", f->entry);
}

bool
pack_blames_disk(const json_t *said, const char *path, struct err *e)
{
	int number = (int)json_integer_value(json_object_get(said, "errno"));
	const char *entry = json_str(said, "entry");

	if (number <= 0)
		return false;
	errno = number;
	files_fail(e, entry[0] != '\0' ? entry : path);
	return true;
}

/* Reports the error of `a`.  Errors of the disk have an errno, others 0. */
static int
report_error(const struct packing *p, struct archive *a)
{
	auto_json json_t *said = json_object();
	auto_free char *text = NULL;
	int number = archive_errno(a);

	pack_blame(said,
	    &(struct pack_fault){ archive_entry_pathname(p->entry),
		archive_error_string(a), number > 0 ? number : 0 });
	text = json_text(said);
	fputs(text, stderr);
	return -1;
}

/* Writes zeros up to `at`; libarchive drops those in known holes. */
static int
write_zeros(struct packing *p, int64_t at)
{
	static const char ZEROS[BLOCK_BYTES];

	while (p->written < at) {
		size_t n = sizeof(ZEROS);

		if (at - p->written < (int64_t)n)
			n = (size_t)(at - p->written);
		if (archive_write_data(p->to, ZEROS, n) < 0)
			return report_error(p, p->to);
		p->written += (int64_t)n;
	}
	return 0;
}

/*
 * Copies `b` and the pieces after it.  A file that grows or shrinks meanwhile
 * has the size of its header: libarchive cuts or pads it.
 */
static int
copy_data(struct packing *p, struct piece b)
{
	int rc = ARCHIVE_OK;

	for (p->written = 0; rc == ARCHIVE_OK;
	     rc = archive_read_data_block(p->from, &b.data, &b.len, &b.at)) {
		if (write_zeros(p, b.at) < 0)
			return -1;
		if (archive_write_data(p->to, b.data, b.len) < 0)
			return report_error(p, p->to);
		p->written += (int64_t)b.len;
	}
	return rc == ARCHIVE_EOF ? 0 : report_error(p, p->from);
}

static bool
is_wanted(struct archive_entry *entry)
{
	mode_t type = archive_entry_filetype(entry);

	return type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK;
}

/* Whether it is a secret file; `path` is relative to the current directory. */
static bool
is_secret(const struct packing *p, const char *path)
{
	auto_free char *dir = NULL;
	auto_free char *whole = NULL;

	if (!p->no_secrets)
		return false;
	dir = getcwd(NULL, 0);
	if (str_starts(path, "./"))
		path += 2;
	whole = xasprintf("%s/%s",
	    dir != NULL && !str_equal(dir, "/") ? dir : "", path);
	return secret_list_has(whole);
}

static int
add_entry(struct packing *p, struct archive_entry *entry)
{
	struct archive_entry *later = NULL;
	struct piece b = { .len = 0 };
	int rc = ARCHIVE_EOF;

	archive_entry_linkify(p->links, &entry, &later);
	/* never restored, and they would cost an extra header for each entry */
	archive_entry_unset_atime(entry);
	archive_entry_unset_ctime(entry);
	if (p->format->dense)
		archive_entry_sparse_clear(entry);
	/* read first: a file that has vanished must not get a header */
	if (archive_entry_size(entry) > 0)
		rc = archive_read_data_block(p->from, &b.data, &b.len, &b.at);
	if (rc < ARCHIVE_OK && archive_errno(p->from) == ENOENT)
		return 0;
	if (rc < ARCHIVE_OK)
		return report_error(p, p->from);
	/* again: the open file may be one that an execution has just brought */
	if (rc == ARCHIVE_OK && is_secret(p, archive_entry_pathname(entry)))
		return 0;
	if (archive_write_header(p->to, entry) < ARCHIVE_WARN)
		return report_error(p, p->to);
	return rc == ARCHIVE_OK ? copy_data(p, b) : 0;
}

/* Renames `./a` to `a`; false for `.`, the directory itself. */
static bool
name_from_here(struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);

	if (path == NULL || str_equal(path, "."))
		return false;
	if (str_starts(path, "./")) {
		auto_free char *rest = xstrdup(path + 2);

		archive_entry_copy_pathname(entry, rest);
	}
	return true;
}

/* A temporary file of the agent, or a stage of swap.h. */
static bool
is_unfinished(const char *path)
{
	const char *slash = strrchr(path, '/');

	return files_is_beside(slash != NULL ? slash + 1 : path);
}

static bool
is_omitted(const struct packing *p, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);

	if (path == NULL)
		return false;
	if (archive_entry_filetype(entry) == AE_IFREG && is_secret(p, path))
		return true;
	if (p->without != NULL)
		return str_equal(path, p->without) || is_unfinished(path);
	return p->omit != NULL && str_starts(path, "./") &&
	    omit_has(p->omit, path + 2);
}

static int
add_tree(struct packing *p)
{
	struct archive_entry *entry = p->entry;
	int rc;

	while (
	    (rc = archive_read_next_header2(p->from, entry)) != ARCHIVE_EOF) {
		if (rc < ARCHIVE_WARN) {
			if (archive_errno(p->from) != ENOENT ||
			    rc == ARCHIVE_FATAL)
				return report_error(p, p->from);
		} else if (!is_omitted(p, entry)) {
			archive_read_disk_descend(p->from);
			if (name_from_here(entry) && is_wanted(entry) &&
			    add_entry(p, entry) < 0)
				return -1;
		}
		archive_entry_clear(entry);
	}
	return 0;
}

static const struct format *
format_of(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(FORMATS); i++)
		if (str_equal(FORMATS[i].name, name))
			return &FORMATS[i];
	return NULL;
}

static int
open_both(struct packing *p)
{
	archive_read_disk_set_symlink_physical(p->from);
	archive_read_disk_set_behavior(p->from,
	    ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_XATTR |
		ARCHIVE_READDISK_NO_FFLAGS);
	/* pax has an extra header for each entry with a fractional time */
	if (p->exact)
		archive_write_set_format_pax(p->to);
	else
		archive_write_set_format_pax_restricted(p->to);
	archive_write_set_bytes_per_block(p->to, BLOCK_BYTES);
	archive_write_set_bytes_in_last_block(p->to, 1);
	archive_entry_linkresolver_set_strategy(p->links,
	    archive_format(p->to));
	if (p->format->filter(p->to) < ARCHIVE_WARN ||
	    archive_write_open_fd(p->to, STDOUT_FILENO) != ARCHIVE_OK)
		return report_error(p, p->to);
	return 0;
}

/* Adds the last entry: an archive without it is incomplete. */
static int
add_mark(struct packing *p, const char *name)
{
	archive_entry_clear(p->entry);
	archive_entry_copy_pathname(p->entry, name);
	archive_entry_set_filetype(p->entry, AE_IFREG);
	archive_entry_set_perm(p->entry, 0600);
	archive_entry_set_size(p->entry, 0);
	return archive_write_header(p->to, p->entry) < ARCHIVE_WARN
	    ? report_error(p, p->to)
	    : 0;
}

/* `names` ends with NULL. */
static int
pack_names(struct packing *p, const char *const *names, const char *mark)
{
	int rc = open_both(p);

	for (; rc == 0 && *names != NULL; names++) {
		if (archive_read_disk_open(p->from, *names) != ARCHIVE_OK)
			return report_error(p, p->from);
		rc = add_tree(p);
		if (rc == 0)
			archive_read_close(p->from);
	}
	if (rc == 0 && mark != NULL)
		rc = add_mark(p, mark);
	if (rc == 0 && archive_write_close(p->to) != ARCHIVE_OK)
		rc = report_error(p, p->to);
	return rc;
}

/* The caller sets the options of p; mark may be NULL. */
static int
run_packing(struct packing *p, const char *const *names, const char *mark)
{
	int rc;

	if (p->format == NULL)
		return EXIT_FAILURE;
	signal(SIGXFSZ, SIG_IGN); /* write() then fails with EFBIG */
	/* marks UTF-8 names as such in the archive; others stay bytes */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	p->from = archive_read_disk_new();
	p->to = archive_write_new();
	p->entry = archive_entry_new();
	p->links = archive_entry_linkresolver_new();
	rc = pack_names(p, names, mark);
	archive_entry_free(p->entry);
	archive_entry_linkresolver_free(p->links);
	archive_write_free(p->to);
	archive_read_free(p->from);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
pack_main(const char *format, const char *name)
{
	/*
	 * Exact times: a client that compares them must see that a file was
	 * changed within the same second.
	 */
	return run_packing(&(struct packing){ .format = format_of(format),
			       .exact = true },
	    (const char *const[]){ name, NULL }, NULL);
}

int
backup_main(const char *format)
{
	auto_omit struct omit omit = { 0 };

	omit_read(&omit, STDIN_FILENO);
	return run_packing(&(struct packing){ .format = format_of(format),
			       .omit = &omit,
			       .no_secrets = true },
	    (const char *const[]){ ".", NULL }, NULL);
}

int
snapshot_export_main(void)
{
	static const char *const NAMES[] = { "workspace", "home/user", NULL };

	/* omits the process records: a new session has other processes */
	return run_packing(&(struct packing){ .format = format_of("tar"),
			       .without = "home/user/.local/state/sandlease",
			       .no_secrets = true,
			       .exact = true },
	    NAMES, PACK_MARK);
}
