/* mime.c: finds a file's MIME type. */
#include "agent/files/mime.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"

enum { SNIFF_MAX = 8192 };

/*
 * Arrays, longer than any of their texts: pointers would have to be relocated in
 * each process that starts.
 */
/* clang-format off */
static const struct { char ext[12], type[80]; } BY_NAME[] = {
	{ "txt", "text/plain" },            { "log", "text/plain" },
	{ "md", "text/markdown" },          { "markdown", "text/markdown" },
	{ "html", "text/html" },            { "htm", "text/html" },
	{ "css", "text/css" },              { "csv", "text/csv" },
	{ "tsv", "text/tab-separated-values" },
	{ "js", "text/javascript" },        { "mjs", "text/javascript" },
	{ "cjs", "text/javascript" },       { "jsx", "text/javascript" },
	{ "ts", "text/x-typescript" },      { "tsx", "text/x-typescript" },
	{ "py", "text/x-python" },          { "rb", "text/x-ruby" },
	{ "go", "text/x-go" },              { "rs", "text/x-rust" },
	{ "c", "text/x-c" },                { "h", "text/x-c" },
	{ "cc", "text/x-c++" },             { "cpp", "text/x-c++" },
	{ "hpp", "text/x-c++" },            { "java", "text/x-java" },
	{ "kt", "text/x-kotlin" },          { "swift", "text/x-swift" },
	{ "php", "text/x-php" },            { "pl", "text/x-perl" },
	{ "lua", "text/x-lua" },            { "sql", "text/x-sql" },
	{ "sh", "text/x-shellscript" },     { "bash", "text/x-shellscript" },
	{ "yml", "text/yaml" },             { "yaml", "text/yaml" },
	{ "toml", "text/x-toml" },          { "ini", "text/plain" },
	{ "conf", "text/plain" },           { "env", "text/plain" },
	{ "diff", "text/x-diff" },          { "patch", "text/x-diff" },
	{ "tex", "text/x-tex" },            { "rst", "text/x-rst" },
	{ "json", "application/json" },     { "jsonl", "application/x-ndjson+json" },
	{ "ipynb", "application/x-ipynb+json" },
	{ "map", "application/json" },      { "xml", "application/xml" },
	{ "svg", "image/svg+xml" },         { "png", "image/png" },
	{ "jpg", "image/jpeg" },            { "jpeg", "image/jpeg" },
	{ "gif", "image/gif" },             { "webp", "image/webp" },
	{ "bmp", "image/bmp" },             { "ico", "image/x-icon" },
	{ "avif", "image/avif" },           { "tif", "image/tiff" },
	{ "tiff", "image/tiff" },           { "mp3", "audio/mpeg" },
	{ "wav", "audio/wav" },             { "ogg", "audio/ogg" },
	{ "flac", "audio/flac" },           { "mp4", "video/mp4" },
	{ "webm", "video/webm" },           { "mov", "video/quicktime" },
	{ "woff", "font/woff" },            { "woff2", "font/woff2" },
	{ "ttf", "font/ttf" },              { "otf", "font/otf" },
	{ "pdf", "application/pdf" },       { "zip", "application/zip" },
	{ "gz", "application/gzip" },       { "tgz", "application/gzip" },
	{ "bz2", "application/x-bzip2" },   { "xz", "application/x-xz" },
	{ "zst", "application/zstd" },      { "7z", "application/x-7z-compressed" },
	{ "tar", "application/x-tar" },     { "jar", "application/java-archive" },
	{ "wasm", "application/wasm" },     { "bin", "application/octet-stream" },
	{ "exe", "application/octet-stream" },
	{ "so", "application/octet-stream" },
	{ "o", "application/octet-stream" },
	{ "sqlite", "application/vnd.sqlite3" },
	{ "db", "application/octet-stream" },
	{ "parquet", "application/vnd.apache.parquet" },
	{ "docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document" },
	{ "xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet" },
	{ "pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation" },
};

static const struct {
	size_t at;
	char magic[16];
	size_t len;
	char type[40];
	bool weak; /* text may begin so, too: not used for valid text */
} BY_MAGIC[] = {
	{ 0, "\x89PNG\r\n\x1a\n", 8, "image/png" },
	{ 0, "\xff\xd8\xff", 3, "image/jpeg" },
	{ 0, "GIF8", 4, "image/gif", true },
	{ 8, "WEBP", 4, "image/webp", true },
	{ 0, "II*\0", 4, "image/tiff" },
	{ 0, "MM\0*", 4, "image/tiff" },
	{ 0, "\0\0\1\0", 4, "image/x-icon" },
	{ 8, "WAVE", 4, "audio/wav", true },
	{ 0, "OggS", 4, "audio/ogg", true },
	{ 0, "fLaC", 4, "audio/flac", true },
	{ 0, "ID3", 3, "audio/mpeg", true },
	{ 4, "ftyp", 4, "video/mp4", true },
	{ 0, "\x1a\x45\xdf\xa3", 4, "video/webm" },
	{ 0, "wOFF", 4, "font/woff", true },
	{ 0, "wOF2", 4, "font/woff2", true },
	{ 0, "%PDF-", 5, "application/pdf" },
	{ 0, "PK\x03\x04", 4, "application/zip" },
	{ 0, "\x1f\x8b", 2, "application/gzip" },
	{ 0, "BZh", 3, "application/x-bzip2", true },
	{ 0, "\xfd" "7zXZ", 5, "application/x-xz" },
	{ 0, "\x28\xb5\x2f\xfd", 4, "application/zstd" },
	{ 0, "7z\xbc\xaf\x27\x1c", 6, "application/x-7z-compressed" },
	{ 257, "ustar", 5, "application/x-tar" },
	{ 0, "\x7f" "ELF", 4, "application/x-executable" },
	{ 0, "\0asm", 4, "application/wasm" },
	{ 0, "PAR1", 4, "application/vnd.apache.parquet", true },
	{ 0, "SQLite format 3", 15, "application/vnd.sqlite3" },
	{ 0, "#!", 2, "text/x-shellscript" },
	{ 0, "<?xml", 5, "application/xml" },
	{ 0, "<!DOCTYPE html", 14, "text/html" },
	{ 0, "<!doctype html", 14, "text/html" },
};
/* clang-format on */

static const char *
by_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	if (dot == NULL || dot == name)
		return NULL;
	for (size_t i = 0; i < ARRAY_LEN(BY_NAME); i++)
		if (strcasecmp(dot + 1, BY_NAME[i].ext) == 0)
			return BY_NAME[i].type;
	return NULL;
}

static const char *
by_magic(const char *data, size_t len, bool text)
{
	for (size_t i = 0; i < ARRAY_LEN(BY_MAGIC); i++)
		if (len >= BY_MAGIC[i].at + BY_MAGIC[i].len &&
		    memcmp(data + BY_MAGIC[i].at, BY_MAGIC[i].magic,
			BY_MAGIC[i].len) == 0 &&
		    !(text && BY_MAGIC[i].weak))
			return BY_MAGIC[i].type;
	return NULL;
}

const char *
mime_of(const char *path, const char *data, size_t len)
{
	const char *type = by_name(path);
	size_t n = len < SNIFF_MAX ? len : SNIFF_MAX;
	bool text;

	if (type != NULL)
		return type;
	/* the first SNIFF_MAX bytes may end inside a UTF-8 sequence */
	text = n == 0 ||
	    (memchr(data, '\0', n) == NULL &&
		utf8_valid(data, utf8_whole(data, n)));
	type = by_magic(data, n, text);
	if (type != NULL)
		return type;
	return text ? "text/plain" : "application/octet-stream";
}

const char *
mime_of_fd(const char *path, int fd)
{
	auto_free char *head = xmalloc(SNIFF_MAX);
	ssize_t n = pread(fd, head, SNIFF_MAX, 0);
	const char *type = by_name(path);

	if (n >= 0 || type != NULL)
		return mime_of(path, head, n > 0 ? (size_t)n : 0);
	return "application/octet-stream"; /* pread() fails on a fifo */
}

static bool
ends_with(const char *s, const char *end)
{
	size_t a = strlen(s), b = strlen(end);

	return a >= b && strcmp(s + a - b, end) == 0;
}

bool
mime_is_text(const char *type)
{
	static const char *const TEXT[] = { "application/json",
		"application/xml", "application/javascript" };

	if (str_starts(type, "text/") || ends_with(type, "+json") ||
	    ends_with(type, "+xml"))
		return true;
	for (size_t i = 0; i < ARRAY_LEN(TEXT); i++)
		if (str_equal(type, TEXT[i]))
			return true;
	return false;
}
