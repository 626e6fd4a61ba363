/* session.js: one session, what it is and what can be done with it. */
import * as api from "./api.js";
import { commandCard } from "./command.js";
import { confirmed } from "./dialog.js";
import { actionButton, attr, copyButton, el, keyed, text } from "./dom.js";
import { factList, factsOf, setFacts } from "./facts.js";
import { duration, limit, value, words } from "./format.js";
import { historyCard } from "./history.js";
import { poll } from "./poll.js";
import { portsCard } from "./ports.js";
import { setState, stateBadge } from "./state.js";
import { terminalCard } from "./terminal.js";

const MOVING = ["initializing", "sleeping", "deleting"];
const CAN = {
	resume: ["asleep", "failed"],
	sleep: ["ready"],
	delete: ["initializing", "ready", "sleeping", "asleep", "failed", "lost"],
	use: ["initializing", "ready", "sleeping", "asleep"],
};

function card(title, ...content) {
	return el("section", { class: "card" }, el("h2", { text: title }), ...content);
}

/* ---- what it is */

function lifeFacts(s) {
	const until = s.alive?.until;
	return [
		{ name: "Created", value: s.createdAt, time: "past" },
		{ name: "Started", value: s.startedAt, time: "past" },
		{ name: "Last activity", value: s.lastActivityAt, time: "past" },
		{ name: "Ended", value: s.endedAt, time: "past" },
		{ name: "Alive because",
			value: (s.alive?.because ?? []).map(words).join(", ") },
		{ name: "Alive until", value: until, time: "future" },
		{ name: "Sleeps after", value: s.keepAlive ? "Never by itself"
			: duration(s.sleepAfterSeconds ?? 0) },
		{ name: "Wakes on preview", value: s.wakeOnPreview ?? false },
	];
}

function leaseFacts(s) {
	const lease = s.lease ?? {};
	return [
		{ name: "State", value: words(lease.state) },
		{ name: "Generation", value: lease.generation },
		{ name: "Instance", value: lease.instance, code: true },
		{ name: "Startup deadline", value: lease.startupDeadline, time: "future" },
		{ name: "Kept warm until", value: lease.keepWarmUntil, time: "future" },
		...factsOf(lease.stop).map((f) => ({ ...f, name: `Stop: ${f.name.toLowerCase()}` })),
	];
}

function placeFacts(s) {
	const labels = Object.entries(s.labels ?? {}).map(([k, v]) => `${k}=${v}`);
	return [
		{ name: "Isolation", value: words(s.isolation) },
		{ name: "Class", value: s.class },
		{ name: "Provider", value: s.provider },
		{ name: "Cell", value: words(s.cell) },
		{ name: "Agent type", value: s.agentType },
		{ name: "Labels", value: labels.join(", ") },
		...factsOf(s.network).map((f) => ({ ...f, name: `Network ${f.name.toLowerCase()}` })),
		{ name: "Sandbox", value: s.sandboxId, code: true },
	];
}

function setLimits(body, limits) {
	keyed(body, Object.entries(limits ?? {}), ([name]) => name,
		() => el("tr", {}, el("th", { scope: "row" }), el("td"), el("td")),
		(row, [name, l]) => {
			const [label, shown] = limit(name, l?.value ?? l);
			text(row.children[0], label);
			text(row.children[1], shown);
			text(row.children[2], value(l?.by));
			row.children[2].dataset.by = l?.by ?? "";
		});
}

function factCards() {
	const life = factList();
	const lease = factList();
	const place = factList();
	const limits = el("tbody");
	const node = el("div", { class: "side" },
		card("Life", life), card("Lease", lease),
		card("Limits", el("table", { class: "limits" },
			el("thead", {}, el("tr", {}, ...["Limit", "Value", "Held by"]
				.map((t) => el("th", { scope: "col", text: t })))), limits)),
		card("Place", place));
	return {
		node,
		set(s) {
			setFacts(life, lifeFacts(s));
			setFacts(lease, leaseFacts(s));
			setFacts(place, placeFacts(s));
			setLimits(limits, s.limits);
		},
	};
}

/* Why its setup failed; not there when it did not. */
function setupCard() {
	const how = el("p");
	const output = el("pre");
	const node = el("section", { class: "card setup", hidden: true },
		el("h2", { text: "Setup failed" }), how,
		el("div", { class: "run", "data-over": "" }, output));
	return {
		node,
		set({ setup }) {
			node.hidden = setup?.state !== "failed";
			text(how, `Exit code ${setup?.exitCode}. Resume runs it again.`);
			text(output, setup?.output ?? "");
		},
	};
}

/* ---- what can be done */

function head(id, act) {
	const title = el("h1", { tabindex: "-1", "data-focus": true, text: id });
	const badge = stateBadge();
	const reason = el("span", { class: "reason" });
	const buttons = {
		resume: act.button("Resume", {}, act.resume),
		sleep: act.button("Sleep", {}, act.sleep),
		delete: act.button("Delete", { class: "danger" }, act.remove),
	};
	for (const button of Object.values(buttons))
		button.disabled = true;
	return {
		node: el("div", { class: "session-head" },
			el("nav", { class: "crumbs", "aria-label": "Path" },
				el("a", { href: "#/sessions", text: "Sessions" })),
			el("div", { class: "page-head" },
				el("div", { class: "title" }, title, badge, reason),
				el("div", { class: "actions" }, ...Object.values(buttons))),
			el("p", { class: "id-line" }, el("code", { text: id }),
				copyButton("session id", () => id))),
		set(s) {
			document.title = `${s.name || s.id} \u00b7 Sandlease`;
			text(title, s.name || s.id);
			setState(badge, s);
			text(reason, s.reason ? words(s.reason) : "");
			for (const [what, button] of Object.entries(buttons))
				button.disabled = !CAN[what].includes(s.state);
		},
	};
}

export function sessionView(main, { go, fail, say }, id) {
	let session = null;
	const facts = factCards();
	const change = async (call, message) => {
		const answer = await call(id);
		if (answer?.state)
			set(answer);
		say(message);
		refresh.now();
	};
	const act = {
		button: (label, props, action) => actionButton(label, props, action, fail),
		resume: () => change(api.resumeSession, "Session is being resumed"),
		sleep: () => change(api.sleepSession, "Session is being put to sleep"),
		async remove() {
			const sure = await confirmed({
				title: `Delete ${session?.name || id}?`,
				message: "Everything that runs in it is stopped and its files are removed. This cannot be undone.",
				yes: "Delete session",
			});
			if (sure)
				await change(api.deleteSession, "Session is being deleted");
		},
	};
	const top = head(id, act);
	const ports = portsCard(id, { fail, say, changed: () => refresh.now() });
	const history = historyCard(id);
	const setup = setupCard();
	const command = commandCard(id, { fail, done: () => refresh.now() });
	const terminal = terminalCard(id, { fail });

	function set(s) {
		session = s;
		top.set(s);
		facts.set(s);
		setup.set(s);
		ports.set(s, CAN.use.includes(s.state));
		command.set(CAN.use.includes(s.state), s.state === "asleep");
		terminal.set(CAN.use.includes(s.state), s.state === "asleep");
		attr(main, "data-state", s.state);
	}

	const refresh = poll(async (signal) => {
		set(await api.getSession(id, signal));
		await history.refresh(signal);
	}, () => (MOVING.includes(session?.state) ? 800 : 3000), (error) => {
		if (error.status === 404)
			go("/sessions", error);
		else
			fail(error);
	});

	document.title = `${id} \u00b7 Sandlease`;
	main.append(top.node, el("div", { class: "columns" },
		el("div", { class: "wide" }, setup.node, command.node, terminal.node, ports.node, history.node),
		facts.node));
	return () => {
		refresh.stop();
		command.stop();
		terminal.stop();
		attr(main, "data-state", null);
	};
}
