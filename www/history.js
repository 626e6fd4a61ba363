/* history.js: the events of a session, newest first. */
import * as api from "./api.js";
import { attr, el, keyed, text } from "./dom.js";
import { showTime, words } from "./format.js";
import { outputOf } from "./output.js";

const SHOWN = 100;

/* "key:abc/ann" is ann to people; the whole is in the title. */
function who(actor) {
	return actor ? actor.replace(/^(?:key|gate):[^/]*\//, "") : "";
}

function took(ms) {
	if (ms === null || ms === undefined)
		return "";
	return ms < 10000 ? `${ms} ms` : `${Math.round(ms / 1000)} s`;
}

/* "a.example:443", "[2001:db8::1]:443"; port 0: the name was resolved */
function hostPort({ host, port }) {
	if (!host || !port)
		return host;
	return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/* The reason of an event; of a denial also its host, which may have to be allowed. */
function why(e) {
	const detail = e.detail ?? {};
	const reasons = [detail.how, e.reason].filter(Boolean)
		.map((w) => (/\s/.test(w) ? w : words(w)));
	const all = e.kind === "network" ? [hostPort(detail), ...reasons, detail.detail] : reasons;
	return all.filter(Boolean).join(", ");
}

function makeRow() {
	return el("tr", {}, el("td", { class: "h-at" }, el("time")),
		el("td", { class: "h-what" }, el("span", { class: "h-name" }),
			el("span", { class: "h-why" }), el("div", { class: "h-text" })),
		el("td", { class: "h-who" }), el("td", { class: "h-ms" }));
}

/* Output of a setup; an event never changes, so it is drawn once. */
function showText(node, e) {
	if (typeof e.detail?.text !== "string" || e.detail.text === "" ||
		node.childElementCount > 0)
		return;
	node.append(el("details", {},
		el("summary", { text: "Output" }),
		outputOf(e.detail.text, { "aria-label": `Output, ${words(e.what)}` })));
}

function changeRow(row, e) {
	const [at, what, actor, ms] = row.children;
	attr(row, "data-kind", e.kind);
	showTime(at.firstElementChild, e.at, "past");
	text(what.children[0], words(e.what));
	text(what.children[1], why(e));
	showText(what.children[2], e);
	text(actor, who(e.actor));
	attr(actor, "title", e.actor);
	text(ms, took(e.durationMs));
}

export function historyCard(id) {
	const body = el("tbody");
	const node = el("section", { class: "card" }, el("h2", { text: "History" }),
		el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "History" },
			el("table", { class: "history" },
				el("thead", {}, el("tr", {}, ...["When", "What", "Who", "Time"]
					.map((t) => el("th", { scope: "col", text: t })))), body)));
	let events = [];
	let next = 0;
	return {
		node,
		/* Adds the events that are new since the last call. */
		async refresh(signal) {
			const page = await api.listEvents(id, next, signal);
			if (page.next === next)
				return;
			next = page.next;
			events = [...page.events.reverse(), ...events].slice(0, SHOWN);
			keyed(body, events, (e) => e.id, makeRow, changeRow);
		},
	};
}
