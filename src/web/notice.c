/* notice.c: a small page for a person, where a program gets JSON. */
#include "web/notice.h"

#include <string.h>

/* NOTICE_POLICY has its hash */
static const char STYLE[] =
    ":root{color-scheme:light dark}body{font:16px/1.5 sans-serif;"
    "max-width:36em;margin:4em auto;padding:0 1em}";

bool
notice_wanted(const char *accept)
{
	const char *html = strcasestr(accept, "text/html");
	const char *json = strcasestr(accept, "json");

	return html != NULL && (json == NULL || html < json);
}

void
notice_escape(struct buf *to, const char *text)
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
notice_write(struct buf *to, const char *title, const char *html,
    int reload_seconds)
{
	buf_str(to,
	    "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\">");
	if (reload_seconds > 0)
		buf_fmt(to, "<meta http-equiv=\"refresh\" content=\"%d\">",
		    reload_seconds);
	buf_str(to, "<title>");
	notice_escape(to, title);
	buf_fmt(to, "</title><style>%s</style><h1>", STYLE);
	notice_escape(to, title);
	buf_fmt(to, "</h1>%s</html>\n", html);
}
