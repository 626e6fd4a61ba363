/* form.js: fields with a label, a note, and errors beside them. */
import { el } from "./dom.js";

/* A field; its note shows `help`, or what is wrong with it. */
export function field(name, label, control, help) {
	control.id = `field-${name}`;
	control.name = name;
	control.setAttribute("aria-describedby", `field-${name}-note`);
	return el("div", { class: "field" },
		el("label", { for: control.id, text: label }), control,
		el("p", { class: "help", id: `field-${name}-note`, "data-help": help ?? "",
			text: help ?? "" }));
}

export function select(options) {
	return el("select", {}, ...options.map(([value, label]) =>
		el("option", { value, text: label })));
}

/* Takes the errors away. */
export function unmark(form) {
	for (const note of form.querySelectorAll("[data-help]")) {
		note.textContent = note.dataset.help;
		note.classList.remove("field-error");
	}
	for (const control of form.querySelectorAll("[aria-invalid]"))
		control.removeAttribute("aria-invalid");
}

/* The control that a path such as "network.allow[2]" or "env" is about. */
function controlOf(form, path) {
	const [first, second] = path.split(/[.[]/);
	const named = second && form.elements.namedItem(`${first}.${second}`);
	return named || form.elements.namedItem(first);
}

/* Puts each message beside its field; false when there is no such field. */
export function mark(form, errors) {
	let first = null;
	for (const { field: path, message } of errors) {
		const control = controlOf(form, path);
		const note = control && document.getElementById(`${control.id}-note`);
		if (!note)
			continue;
		control.setAttribute("aria-invalid", "true");
		note.textContent = message;
		note.classList.add("field-error");
		first ??= control;
	}
	first?.focus();
	return first !== null;
}
