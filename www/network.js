/* network.js: what a session may connect to: its form, its facts, its changes. */
import * as api from "./api.js";
import { openDialog } from "./dialog.js";
import { actionButton, busyWhile, el, text } from "./dom.js";
import { factList, setFacts } from "./facts.js";
import { field, mark, select, unmark } from "./form.js";
import { NONE, bytes } from "./format.js";

const MODES = [
	["", "Default of the org"], ["none", "None"], ["allow", "Only these hosts"],
	["open", "Every public address"],
];

const entriesOf = (lines) => lines.split(/[\s,]+/).filter(Boolean);

/* Buttons that add a preset to the list; none if they cannot be had. */
async function addPresets(place, hosts) {
	const { presets } = await api.listPresets().catch(() => ({ presets: [] }));
	place.append(...presets.map(({ name, allow }) => el("button", {
		type: "button", class: "small", text: `@${name}`, title: allow.join(", "),
		on: {
			click() {
				if (!entriesOf(hosts.value).includes(`@${name}`))
					hosts.value = [...entriesOf(hosts.value), `@${name}`].join("\n");
				hosts.dispatchEvent(new Event("input", { bubbles: true }));
				hosts.focus();
			},
		},
	})));
}

/*
 * The fields of a policy, which networkOf() reads.  `now` is the policy they
 * begin with; without one it is the default.
 */
export function networkFields(now = {}) {
	const mode = select(MODES);
	const hosts = el("textarea", {
		rows: "3", spellcheck: "false", autocapitalize: "off",
		placeholder: "api.example.com",
	});
	const most = el("input", {
		type: "number", min: "1", inputmode: "numeric", placeholder: "no limit",
	});
	const presets = el("div", { class: "presets" });
	const list = field("network.allow", "Hosts", hosts,
		"One per line: a name, *.name for all below it, name:port, or a preset.");
	const limit = field("network.maxRequests", "Requests at most", most);
	const show = () => {
		list.hidden = mode.value !== "allow";
		limit.hidden = !["allow", "open"].includes(mode.value);
	};
	mode.value = now.mode ?? "";
	hosts.value = (now.allow ?? []).join("\n");
	most.value = now.maxRequests ?? "";
	list.insertBefore(presets, list.lastElementChild);
	mode.addEventListener("change", show);
	addPresets(presets, hosts);
	const fields = [field("network", "Network", mode), limit, list];
	show();
	return fields;
}

/* The policy that a form says; null: the default. */
export function networkOf(form) {
	const data = new FormData(form);
	const mode = data.get("network");
	if (mode === "")
		return null;
	const policy = { mode };
	if (mode === "allow")
		policy.allow = entriesOf(data.get("network.allow"));
	if (mode !== "none" && data.get("network.maxRequests") !== "")
		policy.maxRequests = Number(data.get("network.maxRequests"));
	return policy;
}

/* Asks for another policy; `changed` gets the session. */
function openChange(id, now, changed, fail) {
	const submit = el("button", { class: "primary", text: "Save" });
	const cancel = el("button", { type: "button", text: "Cancel" });
	const trouble = el("p", { class: "field-error", role: "alert" });
	const form = el("form", { class: "create" }, ...networkFields(now),
		el("p", { class: "help", text: "Connections that are no longer allowed are closed at once." }),
		trouble, el("div", { class: "dialog-actions" }, cancel, submit));
	const dialog = openDialog("Network", form);

	cancel.addEventListener("click", () => dialog.close());
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		unmark(form);
		text(trouble, "");
		busyWhile(submit, async () => {
			const session = await api.changeSession(id, { network: networkOf(form) });
			dialog.close();
			changed(session);
		}, (error) => {
			if (error.status === 401) {
				dialog.close();
				fail(error);
			} else if (!mark(form, error.errors ?? [])) {
				text(trouble, error.message);
			}
		});
	});
}

/* "all", a list, or null */
function portsText(ports) {
	if (!ports)
		return "Not served now";
	return Array.isArray(ports) ? ports.join(", ") : "All that are allowed";
}

function factsOfNetwork({ network = {}, secrets = [] }) {
	const label = MODES.find(([mode]) => mode === network.mode)?.[1] ?? NONE;
	const facts = [{
		name: "Mode",
		value: network.limitedBy ? `${label}, limited by its ${network.limitedBy}` : label,
	}];
	if (network.allow)
		facts.push({ name: "Allowed", value: network.allow.join(", ") });
	if (secrets.length > 0)
		facts.push({ name: "Secrets",
			value: secrets.map((s) => `${s.header} for ${s.host}`).join(", ") });
	if (network.mode === "none" && !network.connections && !network.denied)
		return facts;
	return [...facts,
		{ name: "Ports", value: portsText(network.ports) },
		{ name: "Connections", value: network.connections },
		{ name: "Requests", value: network.maxRequests
			? `${network.requests} of ${network.maxRequests}` : network.requests },
		{ name: "Received", value: bytes(network.bytesIn) },
		{ name: "Sent", value: bytes(network.bytesOut) },
		{ name: "Denied", value: network.denied },
	];
}

export function networkCard(id, { fail, say, changed }) {
	const list = factList();
	let now = {};
	const change = actionButton("Change", { class: "small", "aria-label": "Change network" },
		() => openChange(id, now, () => {
			say("The network is changed");
			changed();
		}, fail), fail);
	return {
		node: el("section", { class: "card" },
			el("div", { class: "card-head" }, el("h2", { text: "Network" }), change), list),
		set(session, usable) {
			now = session.network ?? {};
			setFacts(list, factsOfNetwork(session));
			change.hidden = !usable;
		},
	};
}
