/* ports.js: the ports of a session that have a preview. */
import * as api from "./api.js";
import { confirmed } from "./dialog.js";
import { actionButton, attr, busyWhile, copyButton, el, keyed, text } from "./dom.js";
import { showTime, value, words } from "./format.js";

function makeRow(id, { fail, say, changed }, port) {
	const link = el("a", { target: "_blank", rel: "noopener noreferrer" });
	const rotate = actionButton("Rotate", { class: "small" }, async () => {
		await api.rotatePort(id, port.port);
		say(`Port ${port.port} has a new address`);
		changed();
	}, fail);
	const revoke = actionButton("Revoke", { class: "small danger" }, async () => {
		const sure = await confirmed({
			title: `Revoke port ${port.port}?`,
			message: "Its address stops working and open connections are closed.",
			yes: "Revoke",
		});
		if (!sure)
			return;
		await api.revokePort(id, port.port);
		say(`Port ${port.port} is revoked`);
		changed();
	}, fail);
	rotate.title = "Makes a new address; the old one stops working";
	return el("tr", {},
		el("th", { scope: "row" }), el("td", { class: "p-name" }),
		el("td", { class: "p-url" }, link),
		el("td", { class: "p-until" }, el("time")),
		el("td", { class: "p-actions" },
			copyButton(`address of port ${port.port}`, () => link.href),
			rotate, revoke));
}

/* Only a web address becomes a link, whatever the answer says. */
function safe(url) {
	return typeof url === "string" && /^https?:\/\//.test(url) ? url : null;
}

function changeRow(row, port, usable) {
	const [number, name, url, until, actions] = row.children;
	text(number, value(port.port));
	text(name, value(port.name));
	text(url.firstElementChild, safe(port.url) ?? words(port.status));
	attr(url.firstElementChild, "href", safe(port.url));
	attr(url.firstElementChild, "title", port.status ? words(port.status) : null);
	if (port.expiresAt)
		showTime(until.firstElementChild, port.expiresAt, "future");
	else
		text(until.firstElementChild, "Never");
	for (const button of actions.querySelectorAll("button:not(.quiet)"))
		button.hidden = !usable; /* Copy stays */
}

/* The form that exposes a port. */
function exposeForm(id, { fail, say, changed }) {
	const number = el("input", {
		type: "number", id: "port", min: "1", max: "65535", required: true,
		inputmode: "numeric", placeholder: "8080", "aria-describedby": "port-error",
	});
	const name = el("input", {
		id: "port-name", autocomplete: "off", placeholder: "web",
	});
	const error = el("p", { class: "field-error", id: "port-error", role: "alert" });
	const submit = el("button", { text: "Expose" });

	function refused(problem) {
		if (problem.status !== 400 && problem.status !== 409) {
			fail(problem);
			return;
		}
		error.textContent = problem.message;
		number.setAttribute("aria-invalid", "true");
		number.focus();
	}

	const form = el("form", { class: "expose", novalidate: true },
		el("div", { class: "field" },
			el("label", { for: "port", text: "Port" }), number),
		el("div", { class: "field" },
			el("label", { for: "port-name", text: "Name (optional)" }), name),
		submit, error);
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		error.textContent = "";
		number.removeAttribute("aria-invalid");
		busyWhile(submit, async () => {
			const body = { port: number.valueAsNumber };
			if (name.value.trim() !== "")
				body.name = name.value.trim();
			await api.exposePort(id, body);
			say(`Port ${body.port} is exposed`);
			form.reset();
			changed();
		}, refused);
	});
	return form;
}

export function portsCard(id, context) {
	const body = el("tbody");
	const table = el("table", { class: "ports", hidden: true },
		el("thead", {}, el("tr", {}, ...[["Port", ""], ["Name", "p-name"],
			["Preview", "p-url"], ["Expires", "p-until"],
			["Actions", "p-actions"]].map(([t, c]) =>
			el("th", { scope: "col", class: c, text: t })))), body);
	const empty = el("p", { class: "empty", text: "No port is exposed." });
	const form = exposeForm(id, context);
	return {
		node: el("section", { class: "card" },
			el("h2", { text: "Ports" }), form, table, empty,
			el("p", { class: "help", text: "Anyone with this link can open it. Rotate the link if it was shared too widely." })),
		set(session, usable) {
			const ports = session.ports ?? [];
			keyed(body, ports, (p) => p.port,
				(p) => makeRow(id, context, p),
				(row, p) => changeRow(row, p, usable));
			table.hidden = ports.length === 0;
			empty.hidden = ports.length > 0;
			form.hidden = !usable;
		},
	};
}
