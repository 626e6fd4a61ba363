/* error_page.c: writes a small HTML page for a person. */
#include "web/error_page.h"

#include <string.h>

/* NOTICE_POLICY contains the hash of this text. */
static const char STYLE[] =
    ":root{color-scheme:light dark}body{font:16px/1.5 sans-serif;"
    "max-width:36em;margin:4em auto;padding:0 1em}";

bool
error_page_wanted(const char *accept)
{
	const char *html = strcasestr(accept, "text/html");
	const char *json = strcasestr(accept, "json");

	return html != NULL && (json == NULL || html < json);
}

void
error_page_escape(struct buf *to, const char *text)
{
	for (; *text != '\0'; text++)
		switch (*text) {
		case '&':
			buf_str(to, "&amp;");
			break;
		case '<':
			buf_str(to, "&lt;");
			break;
		case '>':
			buf_str(to, "&gt;");
			break;
		case '"':
			buf_str(to, "&quot;");
			break;
		default:
			buf_add(to, text, 1);
		}
}

void
error_page_write(struct buf *to, const char *title, const char *html,
    int reload_seconds)
{
	buf_str(to,
	    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
	if (reload_seconds > 0)
		buf_fmt(to, "<meta http-equiv=\"refresh\" content=\"%d\">",
		    reload_seconds);
	buf_str(to, "<title>");
	error_page_escape(to, title);
	buf_fmt(to, "</title><style>%s</style><h1>", STYLE);
	error_page_escape(to, title);
	buf_fmt(to, "</h1>%s</html>\n", html);
}
