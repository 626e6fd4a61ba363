/* pack.c: what is in a directory, as an archive on stdout. */
#include "agent/pack.h"

#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"

enum { BLOCK_BYTES = 64 * 1024 };

struct packing {
	struct archive *from, *to;
	struct archive_entry_linkresolver *links; /* by device and inode */
	int64_t written;                          /* of the present file */
	const char *without; /* a path that is left out, or NULL */
	bool exact;          /* times to the nanosecond */
};

/* A piece of a file, as the disk has it. */
struct piece {
	const void *data;
	size_t len;
	la_int64_t at;
};

static const struct {
	const char *name;
	int (*filter)(struct archive *a);
} FORMATS[] = {
	{ "tar", archive_write_add_filter_none },
	{ "tar.gz", archive_write_add_filter_gzip },
	{ "tar.zst", archive_write_add_filter_zstd },
};

static int
complain(struct archive *a)
{
	const char *why = archive_error_string(a);

	fprintf(stderr, "%.1000s", why != NULL ? why : "cannot be archived");
	return -1;
}

/* Zeros up to `at`: the format leaves out what it knows to be a hole. */
static int
fill(struct packing *p, int64_t at)
{
	static const char ZEROS[BLOCK_BYTES];

	while (p->written < at) {
		size_t n = sizeof(ZEROS);

		if (at - p->written < (int64_t)n)
			n = (size_t)(at - p->written);
		if (archive_write_data(p->to, ZEROS, n) < 0)
			return complain(p->to);
		p->written += (int64_t)n;
	}
	return 0;
}

/* The rest of the file; what has grown or shrunk meanwhile keeps its size. */
static int
copy(struct packing *p, struct piece b)
{
	int rc = ARCHIVE_OK;

	for (p->written = 0; rc == ARCHIVE_OK;
	     rc = archive_read_data_block(p->from, &b.data, &b.len, &b.at)) {
		if (fill(p, b.at) < 0)
			return -1;
		if (archive_write_data(p->to, b.data, b.len) < 0)
			return complain(p->to);
		p->written += (int64_t)b.len;
	}
	return rc == ARCHIVE_EOF ? 0 : complain(p->from);
}

static bool
is_wanted(struct archive_entry *entry)
{
	mode_t type = archive_entry_filetype(entry);

	return type == AE_IFREG || type == AE_IFDIR || type == AE_IFLNK;
}

static int
add(struct packing *p, struct archive_entry *entry)
{
	struct archive_entry *later = NULL;
	struct piece b = { .len = 0 };
	int rc = ARCHIVE_EOF;

	archive_entry_linkify(p->links, &entry, &later);
	/* read first: what can no longer be had gets no header */
	if (archive_entry_size(entry) > 0)
		rc = archive_read_data_block(p->from, &b.data, &b.len, &b.at);
	if (rc < ARCHIVE_OK && archive_errno(p->from) == ENOENT)
		return 0;
	if (rc < ARCHIVE_OK)
		return complain(p->from);
	if (archive_write_header(p->to, entry) < ARCHIVE_WARN)
		return complain(p->to);
	return rc == ARCHIVE_OK ? copy(p, b) : 0;
}

/* `./a` is `a`, and the directory itself is no part of what is in it. */
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

static bool
is_left_out(const struct packing *p, struct archive_entry *entry)
{
	const char *path = archive_entry_pathname(entry);

	return p->without != NULL && path != NULL &&
	    str_equal(path, p->without);
}

static int
walk(struct packing *p, struct archive_entry *entry)
{
	int rc;

	while (
	    (rc = archive_read_next_header2(p->from, entry)) != ARCHIVE_EOF) {
		if (rc < ARCHIVE_WARN) {
			if (archive_errno(p->from) != ENOENT ||
			    rc == ARCHIVE_FATAL)
				return complain(p->from);
		} else if (!is_left_out(p, entry)) {
			archive_read_disk_descend(p->from);
			if (name_from_here(entry) && is_wanted(entry) &&
			    add(p, entry) < 0)
				return -1;
		}
		archive_entry_clear(entry);
	}
	return 0;
}

static int
format_of(const char *format)
{
	for (int i = 0; i < (int)ARRAY_LEN(FORMATS); i++)
		if (str_equal(FORMATS[i].name, format))
			return i;
	return -1;
}

static int
begin(struct packing *p, int format)
{
	archive_read_disk_set_symlink_physical(p->from);
	archive_read_disk_set_behavior(p->from,
	    ARCHIVE_READDISK_NO_ACL | ARCHIVE_READDISK_NO_XATTR |
		ARCHIVE_READDISK_NO_FFLAGS);
	/* all of a time costs a header for each entry */
	if (p->exact)
		archive_write_set_format_pax(p->to);
	else
		archive_write_set_format_pax_restricted(p->to);
	archive_write_set_bytes_per_block(p->to, BLOCK_BYTES);
	archive_write_set_bytes_in_last_block(p->to, 1);
	archive_entry_linkresolver_set_strategy(p->links,
	    archive_format(p->to));
	if (FORMATS[format].filter(p->to) < ARCHIVE_WARN ||
	    archive_write_open_fd(p->to, STDOUT_FILENO) != ARCHIVE_OK)
		return complain(p->to);
	return 0;
}

static int
add_all(struct packing *p, const char *name, struct archive_entry *entry)
{
	if (archive_read_disk_open(p->from, name) != ARCHIVE_OK)
		return complain(p->from);
	if (walk(p, entry) < 0)
		return -1;
	archive_read_close(p->from);
	return 0;
}

/* Behind everything else, so that nobody takes a part for the whole. */
static int
add_mark(struct packing *p, const char *name, struct archive_entry *entry)
{
	archive_entry_clear(entry);
	archive_entry_copy_pathname(entry, name);
	archive_entry_set_filetype(entry, AE_IFREG);
	archive_entry_set_perm(entry, 0600);
	archive_entry_set_size(entry, 0);
	return archive_write_header(p->to, entry) < ARCHIVE_WARN
	    ? complain(p->to)
	    : 0;
}

/* `names` ends with NULL; so does a list without a mark. */
static int
pack(struct packing *p, int format, const char *const *names, const char *mark)
{
	struct archive_entry *entry = archive_entry_new();
	int rc = begin(p, format);

	for (; rc == 0 && *names != NULL; names++)
		rc = add_all(p, *names, entry);
	if (rc == 0 && mark != NULL)
		rc = add_mark(p, mark, entry);
	if (rc == 0 && archive_write_close(p->to) != ARCHIVE_OK)
		rc = complain(p->to);
	archive_entry_free(entry);
	return rc;
}

static int
run(int format, const char *const *names, const char *without, const char *mark)
{
	struct packing p;
	int rc;

	/* names that are UTF-8 are told as such; others are bytes */
	(void)setlocale(LC_CTYPE, "C.UTF-8");
	p = (struct packing){ archive_read_disk_new(), archive_write_new(),
		archive_entry_linkresolver_new(), 0, without, mark != NULL };
	rc = pack(&p, format, names, mark);
	archive_entry_linkresolver_free(p.links);
	archive_write_free(p.to);
	archive_read_free(p.from);
	return rc == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

int
pack_main(const char *format, const char *name)
{
	const char *const names[] = { name, NULL };
	int i = format_of(format);

	return i < 0 ? EXIT_FAILURE : run(i, names, NULL, NULL);
}

int
keep_main(void)
{
	static const char *const NAMES[] = { "workspace", "home/user", NULL };

	/* processes are this session's; the next one has others */
	return run(format_of("tar"), NAMES, "home/user/.local/state/sandlease",
	    PACK_MARK);
}
