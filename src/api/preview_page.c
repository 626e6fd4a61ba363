/* preview_page.c: shows an error page in a browser, instead of a preview. */
#include "api/preview_page.h"

#include "api/app.h"
#include "common/mem.h"
#include "web/error_page.h"
#include "web/reply.h"

struct page_text {
	enum err_code code;
	const char *title, *text; /* text is a sentence or two, no markup */
	bool owner; /* link to the dashboard: the session's owner can wake it */
};

/* clang-format off */
static const struct page_text PAGES[] = {
	{ CODE_INVALID_TOKEN, "There is no preview here",
	  "The address is mistyped, or the preview has ended: its port was closed, its time is over, or its session was deleted.", false },
	{ CODE_STALE_PREVIEW_URL, "This session does not run",
	  "The program behind this preview lives in a session that is asleep or could not be started.", true },
	{ CODE_SESSION_FROZEN, "This session waits for room",
	  "The disk of its server is nearly full. The session goes on as soon as there is room.", false },
	{ CODE_WAKING, "This session has been woken",
	  "It was asleep, and what you sent did not reach it. Go back and send it again.", false },
	{ CODE_CONNECTION_LOST, "The program closed the connection",
	  "It ended the connection before it had answered. It may have crashed.", false },
};
/* clang-format on */

static void
put_paragraph(struct buf *to, const char *text)
{
	buf_str(to, "<p>");
	error_page_escape(to, text);
	buf_str(to, "</p>");
}

static void
put_owner(struct buf *to, struct call *c)
{
	buf_str(to,
	    "<p>Is it yours? <a rel=\"noopener\" target=\"_blank\" href=\"");
	error_page_escape(to, app_of(c)->conf->public_url);
	buf_str(to, "/#/sessions/");
	error_page_escape(to, call_param(c, "SL_SESSION"));
	buf_str(to,
	    "\">Wake it on the dashboard</a>, then load this page again.</p>");
}

void
preview_page_reply(struct call *c, const struct err *e)
{
	struct page_text page = { .title = err_title(e), .text = e->msg };
	auto_buf struct buf html = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(PAGES); i++)
		if (PAGES[i].code == e->code)
			page = PAGES[i];
	put_paragraph(&html, page.text);
	if (page.code == CODE_INVALID_TOKEN)
		put_paragraph(&html,
		    "Ask for a new address where you got this one.");
	if (page.owner)
		put_owner(&html, c);
	reply_preview_page(c, e, page.title, html.data);
}
