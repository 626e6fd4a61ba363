/* create.js: the form for a new session. */
import * as api from "./api.js";
import { busyWhile, el } from "./dom.js";
import { openDialog } from "./dialog.js";
import { field, mark, select, unmark } from "./form.js";
import { networkFields, networkOf } from "./network.js";

function choice(name, label) {
	return el("label", { class: "check" },
		el("input", { type: "checkbox", name }), label);
}

async function suggestTypes(list, known) {
	const { profiles } = await api.listProfiles().catch(() => ({ profiles: [] }));
	const types = new Set([...profiles.map((p) => p.agentType), ...known]);
	list.append(...[...types].map((type) => el("option", { value: type })));
}

/* A text, with profiles and the types of other sessions as suggestions. */
function agentTypeField(known) {
	const control = el("input", {
		autocomplete: "off", maxlength: "64", list: "agent-types", placeholder: "reviewer",
	});
	const node = field("agentType", "Agent type", control,
		"Optional. A type with a profile has its limits and its network.");
	const list = el("datalist", { id: "agent-types" });
	node.append(list);
	suggestTypes(list, known);
	return node;
}

function fields(agentTypes) {
	return [
		field("name", "Name", el("input", { autocomplete: "off", autofocus: true }),
			"Optional. Unique among your sessions."),
		field("isolation", "Sandbox", select([["", "Default"],
			["session", "One of its own"], ["shared", "Shared with my others"]])),
		agentTypeField(agentTypes),
		field("class", "Class", el("input", {
			autocomplete: "off", autocapitalize: "off", placeholder: "small",
		}), "Only with a sandbox of its own."),
		field("sleepAfterSeconds", "Sleep after", el("input", {
			type: "number", min: "1", inputmode: "numeric", placeholder: "600",
		}), "Seconds without a call or a running command."),
		...networkFields(),
		field("env", "Environment", el("textarea", {
			rows: "3", spellcheck: "false", placeholder: "NAME=value",
		}), "One NAME=value per line. Values are sealed and never shown again."),
		el("div", { class: "checks" },
			choice("keepAlive", "Stay awake until I put it to sleep"),
			choice("wakeOnPreview", "Wake up when a preview is opened")),
	];
}

/* NAME=value lines as an object; any other line is an error. */
function parseEnv(lines) {
	const env = {};
	for (const line of lines.split("\n").map((l) => l.trim())) {
		if (line === "")
			continue;
		const at = line.indexOf("=");
		if (at < 1)
			throw new api.ApiError(400, {
				title: "Not understood",
				errors: [{ field: "env", message: `not NAME=value: ${line}` }],
			});
		env[line.slice(0, at)] = line.slice(at + 1);
	}
	return env;
}

function bodyOf(form) {
	const data = new FormData(form);
	const body = {};
	for (const name of ["name", "isolation", "class", "agentType"])
		if (data.get(name).trim() !== "")
			body[name] = data.get(name).trim();
	if (data.get("sleepAfterSeconds") !== "")
		body.sleepAfterSeconds = Number(data.get("sleepAfterSeconds"));
	for (const name of ["keepAlive", "wakeOnPreview"])
		if (data.has(name))
			body[name] = true;
	const network = networkOf(form);
	if (network !== null)
		body.network = network;
	const env = parseEnv(data.get("env"));
	if (Object.keys(env).length > 0)
		body.env = env;
	return body;
}

/* Opens the form; `created` gets the session, `agentTypes` are suggested. */
export function openCreate(agentTypes, created, fail) {
	const submit = el("button", { class: "primary", text: "Create session" });
	const cancel = el("button", { type: "button", text: "Cancel" });
	const trouble = el("p", { class: "field-error", role: "alert" });
	const form = el("form", { class: "create" }, ...fields(agentTypes), trouble,
		el("div", { class: "dialog-actions" }, cancel, submit));
	const dialog = openDialog("New session", form);
	/* Sending the same form twice must not make two sessions. */
	let key = api.newKey();

	form.addEventListener("input", () => { key = api.newKey(); });
	cancel.addEventListener("click", () => dialog.close());
	form.addEventListener("submit", (event) => {
		event.preventDefault();
		unmark(form);
		trouble.textContent = "";
		busyWhile(submit, async () => {
			const session = await api.createSession(bodyOf(form), key);
			dialog.close();
			created(session);
		}, (error) => {
			if (error.status === 401) {
				dialog.close();
				fail(error);
			} else if (!mark(form, error.errors ?? [])) {
				trouble.textContent = error.message;
			}
		});
	});
}
