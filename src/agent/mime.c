/* mime.c: what a file is. */
#include "agent/mime.h"

#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "common/mem.h"
#include "common/str.h"
#include "common/utf8.h"

enum { SNIFF_MAX = 8192 };

/* clang-format off */
static const struct { const char *ext, *type; } BY_NAME[] = {
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

static const struct { const char *magic; size_t len; const char *type; } BY_MAGIC[] = {
	{ "\x89PNG\r\n\x1a\n", 8, "image/png" },
	{ "\xff\xd8\xff", 3, "image/jpeg" },
	{ "GIF8", 4, "image/gif" },
	{ "%PDF-", 5, "application/pdf" },
	{ "PK\x03\x04", 4, "application/zip" },
	{ "\x1f\x8b", 2, "application/gzip" },
	{ "BZh", 3, "application/x-bzip2" },
	{ "\xfd" "7zXZ", 5, "application/x-xz" },
	{ "\x28\xb5\x2f\xfd", 4, "application/zstd" },
	{ "\x7f" "ELF", 4, "application/x-executable" },
	{ "SQLite format 3", 15, "application/vnd.sqlite3" },
	{ "#!", 2, "text/x-shellscript" },
	{ "<?xml", 5, "application/xml" },
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

const char *
mime_of(const char *path, const char *data, size_t len)
{
	const char *type = by_name(path);
	size_t n = len < SNIFF_MAX ? len : SNIFF_MAX;

	if (type != NULL)
		return type;
	for (size_t i = 0; i < ARRAY_LEN(BY_MAGIC); i++)
		if (n >= BY_MAGIC[i].len &&
		    memcmp(data, BY_MAGIC[i].magic, BY_MAGIC[i].len) == 0)
			return BY_MAGIC[i].type;
	if (n > 0 && memchr(data, '\0', n) != NULL)
		return "application/octet-stream";
	/* the sniffed part may end inside a sequence */
	if (n > 0 && !utf8_valid(data, utf8_whole(data, n)))
		return "application/octet-stream";
	return "text/plain";
}

const char *
mime_of_fd(const char *path, int fd)
{
	auto_free char *head = xmalloc(SNIFF_MAX);
	ssize_t n = pread(fd, head, SNIFF_MAX, 0);
	const char *type = by_name(path);

	if (n >= 0 || type != NULL)
		return mime_of(path, head, n > 0 ? (size_t)n : 0);
	return "application/octet-stream"; /* a fifo does not say */
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
