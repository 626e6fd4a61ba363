/* session.js: the page of one session: its facts and its actions. */
import * as api from "./api.js";
import { commandCard } from "./command.js";
import { confirmed } from "./dialog.js";
import { actionButton, attr, copyButton, el, keyed, text } from "./dom.js";
import { factList, factsOf, setFacts } from "./facts.js";
import { duration, limit, value, words } from "./format.js";
import { historyCard } from "./history.js";
import { networkCard } from "./network.js";
import { poll } from "./poll.js";
import { portsCard } from "./ports.js";
import { mayChange, readOnly } from "./scope.js";
import { setupBox } from "./setup.js";
import { setState, stateBadge } from "./state.js";
import { terminalCard } from "./terminal.js";

const MOVING = ["initializing", "sleeping", "deleting"];
const EXTEND_S = 3600;
const LIVING = ["initializing", "ready", "sleeping", "asleep", "failed", "lost"];
const USABLE = ["initializing", "ready", "sleeping", "asleep"];

/* Which actions make sense for a session as it is; the others are not shown. */
const CAN = {
	resume: (s) => ["asleep", "failed"].includes(s.state),
	interrupt: (s) => s.state === "ready" && s.busy === true,
	extend: (s) => s.state === "ready" && !s.keepAlive,
	suspend: (s) => s.state === "ready",
	sleep: (s) => s.state === "ready" || s.suspended === true,
	delete: (s) => LIVING.includes(s.state),
};

function card(title, ...content) {
	return el("section", { class: "card" }, el("h2", { text: title }), ...content);
}

/* ---- its facts */

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

/* ---- its actions */

function actionButtons(act) {
	return {
		resume: act.button("Resume", {}, act.resume),
		interrupt: act.button("Stop commands", {
			title: "Ends every command that runs; the session stays ready",
		}, act.interrupt),
		extend: act.button("Stay awake 1 h", {
			title: "The session does not sleep within the next hour",
		}, act.extend),
		suspend: act.button("Suspend", {
			title: "Freezes all processes; they go on with the next call",
		}, act.suspend),
		sleep: act.button("Sleep", { title: "Ends all processes and keeps the files" }, act.sleep),
		delete: act.button("Delete", { class: "danger" }, act.remove),
	};
}

function head(id, act, may) {
	const title = el("h1", { tabindex: "-1", "data-focus": true, text: id });
	const badge = stateBadge();
	const reason = el("span", { class: "reason" });
	const buttons = may ? actionButtons(act) : {};
	for (const button of Object.values(buttons))
		button.hidden = true;
	return {
		node: el("div", { class: "session-head" },
			el("nav", { class: "crumbs", "aria-label": "Path" },
				el("a", { href: "#/sessions", text: "Sessions" })),
			el("div", { class: "page-head" },
				el("div", { class: "title" }, title, badge, reason),
				may ? el("div", { class: "actions" }, ...Object.values(buttons)) : readOnly()),
			el("p", { class: "id-line" }, el("code", { text: id }),
				copyButton("session id", () => id))),
		set(s) {
			document.title = `${s.name || s.id} \u00b7 Sandlease`;
			text(title, s.name || s.id);
			setState(badge, s);
			text(reason, s.reason ? words(s.reason) : "");
			for (const [what, button] of Object.entries(buttons))
				button.hidden = !CAN[what](s);
		},
	};
}

export function sessionView(main, { me, go, fail, say }, id) {
	let session = null;
	const may = mayChange(me);
	const facts = factCards();
	const change = async (call, message, ...more) => {
		const answer = await call(id, ...more);
		if (answer?.state)
			set(answer);
		say(message);
		refresh.now();
	};
	const act = {
		button: (label, props, action) => actionButton(label, props, action, fail),
		resume: () => change(api.resumeSession, "Session is being resumed"),
		interrupt: async () => {
			const sure = await confirmed({
				title: "Stop every command?",
				message: "All commands that run in this session end, also those of an agent. Shells and files stay.",
				yes: "Stop commands",
			});
			if (sure)
				await change(api.interruptSession, "Commands are stopped");
		},
		extend: () => change(api.extendSession, "The session stays awake for an hour", EXTEND_S),
		suspend: () => change(api.sleepSession, "Session is being suspended", true),
		sleep: () => change(api.sleepSession, "Session is being put to sleep"),
		async remove() {
			const sure = await confirmed({
				title: `Delete ${session?.name || id}?`,
				message: "Everything that runs in it is stopped and its files are removed. This cannot be undone.",
				yes: "Delete session",
			});
			if (!sure)
				return;
			await api.deleteSession(id);
			say("Session is being deleted");
			go("/sessions");
		},
	};
	const top = head(id, act, may);
	const setup = setupBox();
	const ports = portsCard(id, { fail, say, changed: () => refresh.now() });
	const network = networkCard(id, { fail, say, changed: () => refresh.now() });
	const history = historyCard(id);
	const command = commandCard(id, { fail, done: () => refresh.now() });
	const terminal = terminalCard(id, { fail });

	function set(s) {
		session = s;
		const usable = may && USABLE.includes(s.state);
		top.set(s);
		setup.set(s);
		facts.set(s);
		ports.set(s, usable);
		network.set(s, may && LIVING.includes(s.state));
		command.set(s.state === "asleep");
		terminal.set(usable, s.state === "asleep");
		for (const node of [command.node, terminal.node])
			node.hidden = !usable;
		attr(main, "data-state", s.state);
	}

	const refresh = poll(async (signal) => {
		set(await api.getSession(id, signal));
		await history.refresh(signal);
	}, () => (MOVING.includes(session?.state) ? 800 : 3000), (error) => {
		if (error.status !== 404)
			return fail(error);
		go("/sessions", error);
		return undefined;
	});

	facts.node.firstElementChild.after(network.node);
	document.title = `${id} \u00b7 Sandlease`;
	main.append(top.node, setup.node, el("div", { class: "columns" },
		el("div", { class: "wide" }, command.node, terminal.node, ports.node, history.node),
		facts.node));
	return () => {
		refresh.stop();
		command.stop();
		terminal.stop();
		attr(main, "data-state", null);
	};
}
