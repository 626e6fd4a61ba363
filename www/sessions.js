/* sessions.js: the list, by state, a page at a time, always fresh. */
import * as api from "./api.js";
import { openCreate } from "./create.js";
import { attr, el, keyed, text } from "./dom.js";
import { STATES, shortId, showTime, value, words } from "./format.js";
import { poll } from "./poll.js";
import { mayChange, readOnly } from "./scope.js";
import { setState, stateBadge } from "./state.js";

const PAGE = 25;
const REFRESH_MS = 3000;
const COLUMNS = [["State", "c-state"], ["Session", "c-name"],
	["Agent", "c-agent"], ["Sandbox", "c-sandbox"], ["Class", "c-class"],
	["Last activity", "c-activity"], ["Age", "c-age"]];

/* The link is for keyboards and screen readers, the row for pointers. */
function followRow(event) {
	if (event.target.closest("a") === null && getSelection().isCollapsed)
		event.currentTarget.querySelector("a").click();
}

function makeRow() {
	return el("tr", { on: { click: followRow } },
		el("td", { class: "c-state" }, stateBadge()),
		el("td", { class: "c-name" },
			el("a", { class: "name" }), el("code", { class: "id" })),
		el("td", { class: "c-agent" }),
		el("td", { class: "c-sandbox" }, el("code")),
		el("td", { class: "c-class" }),
		el("td", { class: "c-activity" }, el("time")),
		el("td", { class: "c-age" }, el("time")));
}

function changeRow(row, s) {
	const [state, name, agent, sandbox, kind, activity, age] = row.children;
	setState(state.firstElementChild, s);
	attr(state.firstElementChild, "title", s.reason ? words(s.reason) : null);
	attr(name.firstElementChild, "href", `#/sessions/${s.id}`);
	text(name.firstElementChild, s.name || s.id);
	name.firstElementChild.classList.toggle("plain", !s.name);
	text(name.lastElementChild, s.name ? s.id : "");
	text(agent, value(s.agentType));
	text(sandbox.firstElementChild, shortId(s.sandboxId));
	attr(sandbox.firstElementChild, "title", s.sandboxId);
	text(kind, value(s.class));
	showTime(activity.firstElementChild, s.lastActivityAt, "past");
	showTime(age.firstElementChild, s.createdAt, "age");
}

function filters(current) {
	return el("nav", { class: "filters", "aria-label": "Filter by state" },
		...["", ...STATES].map((state) => el("a", {
			href: state ? `#/sessions?state=${state}` : "#/sessions",
			"aria-current": state === current ? "page" : null,
			title: state ? null : "All but deleted",
			text: state ? words(state) : "Current",
		})));
}

function table(body) {
	return el("div", { class: "card table-card", hidden: true },
		el("table", { class: "sessions" },
			el("caption", { class: "unseen", text: "Sessions, newest first" }),
			el("thead", {}, el("tr", {}, ...COLUMNS.map(([name, c]) =>
				el("th", { scope: "col", class: c, text: name })))),
			body));
}

/* Problems that only an operator can solve, and the command for each. */
const TROUBLES = [
	["leasesWithoutMetadata", (n) => `Leases without their session's row: ${n}`,
		"Each is kept until the service has seen that its wrapper is gone.",
		"sandlease-admin lease list --without-session"],
	["failingStops", (n) => `Stops that fail again and again: ${n}`,
		"The service repeats them for ever. The last error says why they fail.",
		"sandlease-admin lease list"],
];

function makeTrouble([, , why, command]) {
	return el("div", { class: "notice" }, el("div", {},
		el("strong"), el("p", { text: why }),
		el("p", { class: "facts", text: command })));
}

function showTroubles(list, health) {
	keyed(list, TROUBLES.filter(([name]) => health[name] > 0), ([name]) => name,
		makeTrouble, (node, [name, say]) =>
			text(node.querySelector("strong"), say(health[name])));
}

function emptyText(state, page, may) {
	if (page > 1)
		return "Nothing is on this page any more.";
	if (state !== "")
		return `No session is ${state}.`;
	return may ? "No sessions yet. Create one to see it here." : "No sessions yet.";
}

export function sessionsView(main, { me, query, go, fail, say }) {
	document.title = "Sessions \u00b7 Sandlease";
	const state = STATES.includes(query.get("state")) ? query.get("state") : "";
	const cursors = [null]; /* of the pages up to the one shown */
	let next = null;

	const troubles = el("div", { role: "status", class: "troubles" });
	const body = el("tbody");
	const empty = el("div", { class: "empty", hidden: true });
	const where = el("span", { class: "where" });
	const back = el("button", { type: "button", text: "Previous" });
	const forth = el("button", { type: "button", text: "Next" });
	const pager = el("div", { class: "pager", hidden: true }, where, back, forth);
	const list = table(body);
	const may = mayChange(me);
	let agentTypes = [];

	const refresh = poll(async (signal) => {
		const cursor = cursors.at(-1);
		const page = await api.listSessions({ state, cursor, limit: PAGE }, signal);
		if (cursor !== cursors.at(-1))
			return; /* another page was asked for meanwhile */
		next = page.nextCursor;
		keyed(body, page.sessions, (s) => s.id, makeRow, changeRow);
		agentTypes = [...new Set(page.sessions.map((s) => s.agentType).filter(Boolean))];
		text(empty, emptyText(state, cursors.length, may));
		empty.hidden = page.sessions.length > 0;
		list.hidden = page.sessions.length === 0;
		text(where, `Page ${cursors.length}`);
		back.disabled = cursors.length === 1;
		forth.disabled = next === null || next === undefined;
		pager.hidden = back.disabled && forth.disabled; /* one page */
		if (me.scope === "admin")
			showTroubles(troubles, await api.health(signal));
	}, () => REFRESH_MS, fail);

	back.addEventListener("click", () => {
		cursors.pop();
		refresh.now();
	});
	forth.addEventListener("click", () => {
		if (next === null)
			return;
		cursors.push(next);
		next = null;
		refresh.now();
	});

	const create = el("button", {
		type: "button", class: "primary", text: "New session",
		on: {
			click: () => openCreate(agentTypes, (session) => {
				say("Session created");
				go(`/sessions/${session.id}`);
			}, fail),
		},
	});
	main.append(
		el("div", { class: "page-head" },
			el("h1", { text: "Sessions", tabindex: "-1", "data-focus": true }),
			may ? create : readOnly()),
		troubles, filters(state), list, empty, pager);
	return refresh.stop;
}
