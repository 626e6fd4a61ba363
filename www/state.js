/* state.js: a session's state as a mark and a word. */
import { el, text } from "./dom.js";
import { words } from "./format.js";

export function stateBadge() {
	return el("span", { class: "state" },
		el("span", { class: "dot", "aria-hidden": "true" }),
		el("span", { class: "state-word" }),
		el("span", { class: "busy" }));
}

export function setState(badge, session) {
	badge.dataset.state = session.state;
	text(badge.querySelector(".state-word"), words(session.state));
	text(badge.querySelector(".busy"), session.busy ? "busy" : "");
}
