/* facts.js: names and values, in place and without jumping about. */
import { el, keyed, text } from "./dom.js";
import { isTime, showTime, value, words } from "./format.js";

function makeFact(fact) {
	const kind = fact.time ? "time" : fact.code ? "code" : "span";
	return el("div", { class: "fact" },
		el("dt"), el("dd", {}, el(kind)));
}

function changeFact(node, fact) {
	const shown = node.lastElementChild.firstElementChild;
	text(node.firstElementChild, fact.name);
	if (fact.time) {
		showTime(shown, fact.value, fact.time);
	} else {
		text(shown, value(fact.value));
		if (fact.title)
			shown.title = fact.title;
	}
}

/* A list that setFacts() fills. */
export function factList() {
	return el("dl", { class: "facts-list" });
}

/*
 * Each fact is {name, value} and, if it is to look so, code: true, or
 * time: "past" | "future".
 */
export function setFacts(list, facts) {
	keyed(list, facts,
		(f) => `${f.name} ${f.time ? "t" : f.code ? "c" : ""}`,
		makeFact, changeFact);
}

/* The facts of an object whose fields this page does not know by name. */
export function factsOf(object) {
	return Object.entries(object ?? {}).map(([name, v]) => ({
		name: words(name), value: v, time: isTime(v) ? "future" : null,
	}));
}
