/* listing.c: writes the entries of a directory as JSON. */
#include "agent/api/listing.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "agent/api/request.h"
#include "agent/files/files.h"
#include "agent/files/walk.h"
#include "common/clock.h"
#include "common/mem.h"
#include "common/utf8.h"

enum { PIECE = 16384 };

static const char *
type_of(mode_t mode)
{
	if (S_ISREG(mode))
		return "file";
	if (S_ISDIR(mode))
		return "directory";
	return S_ISLNK(mode) ? "symlink" : "other";
}

/* Writes "rwxr-xr-x", with s, S, t and T as ls shows them. */
static void
put_mode(char out[10], mode_t mode)
{
	static const struct {
		mode_t bit;
		const char *marks; /* the letter if x is set, and if not */
	} SPECIAL[] = { { S_ISUID, "sS" }, { S_ISGID, "sS" },
		{ S_ISVTX, "tT" } };

	for (int i = 0; i < 9; i++)
		out[i] = mode >> (8 - i) & 1 ? "rwx"[i % 3] : '-';
	for (int i = 0; i < 3; i++)
		if (mode & SPECIAL[i].bit)
			out[3 * i + 2] =
			    SPECIAL[i].marks[out[3 * i + 2] == '-'];
	out[9] = '\0';
}

static void
put_time(char out[CLOCK_ISO_MAX], const struct timespec *t)
{
	char seconds[24];
	struct tm tm;

	/* a file may have any date; years that do not fit become 1970 */
	if (gmtime_r(&t->tv_sec, &tm) == NULL || tm.tm_year > 9999 - 1900 ||
	    tm.tm_year < -1900)
		gmtime_r(&(time_t){ 0 }, &tm);
	strftime(seconds, sizeof(seconds), "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out, CLOCK_ISO_MAX, "%s.%03dZ", seconds,
	    (int)(t->tv_nsec / 1000000));
}

static void
put_text(struct buf *to, const char *name, const char *text)
{
	buf_fmt(to, "\"%s\":\"", name);
	utf8_json(to, text, strlen(text));
	buf_str(to, "\",");
}

static const char *
json_bool(bool b)
{
	return b ? "true" : "false";
}

void
listing_entry(struct buf *to, const char *top, const char *path,
    const struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char mode[10], at[CLOCK_ISO_MAX];

	put_mode(mode, st->st_mode);
	put_time(at, &st->st_mtim);
	buf_str(to, "{");
	put_text(to, "name", slash != NULL ? slash + 1 : path);
	buf_str(to, "\"absolutePath\":\"");
	utf8_json(to, top, strlen(top));
	if (top[strlen(top) - 1] != '/')
		buf_str(to, "/");
	utf8_json(to, path, strlen(path));
	buf_str(to, "\",");
	put_text(to, "relativePath", path);
	buf_fmt(to,
	    "\"type\":\"%s\",\"size\":%lld,\"modifiedAt\":\"%s\","
	    "\"mode\":\"%s\",\"permissions\":{\"readable\":%s,"
	    "\"writable\":%s,\"executable\":%s}}",
	    type_of(st->st_mode), (long long)st->st_size, at, mode,
	    json_bool(st->st_mode & S_IRUSR), json_bool(st->st_mode & S_IWUSR),
	    json_bool(st->st_mode & S_IXUSR));
}

static void
write_list(struct call *c, const struct listing *l, struct walk *w)
{
	auto_buf struct buf piece = { 0 };
	enum walk_step step = WALK_END;
	char at[CLOCK_ISO_MAX];
	long long count = 0;

	buf_str(&piece, "{\"success\":true,");
	put_text(&piece, "path", l->path);
	buf_str(&piece, "\"files\":[");
	call_begin(c, 200, "application/json");
	while (!c->gone && (step = walk_next(w)) != WALK_END &&
	    step != WALK_LOST) {
		if (step != WALK_ENTRY || (w->name[0] == '.' && !l->hidden))
			continue;
		buf_str(&piece, count++ > 0 ? "," : "");
		listing_entry(&piece, l->where, w->path.data, &w->st);
		if (piece.len >= PIECE) {
			call_write(c, piece.data, piece.len);
			piece.len = 0;
		}
		if (l->recursive && S_ISDIR(w->st.st_mode))
			(void)!walk_enter(w);
	}
	if (step == WALK_LOST) {
		call_write(c, piece.data, piece.len);
		call_cut(c); /* a part of the list must not look complete */
		return;
	}
	clock_iso(at);
	buf_fmt(&piece, "],\"count\":%lld,\"timestamp\":\"%s\"", count, at);
	request_add_ignored(c, &piece);
	buf_str(&piece, "}");
	call_write(c, piece.data, piece.len);
}

int
listing_reply(struct call *c, const struct listing *l, struct err *e)
{
	auto_walk struct walk w = { .paths = true };

	if (walk_open(&w, open(l->where, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) <
	    0)
		return files_fail(e, l->where);
	write_list(c, l, &w);
	return 0;
}
