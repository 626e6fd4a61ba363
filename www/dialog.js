/* dialog.js: questions that must be answered first. */
import { el } from "./dom.js";

/* A modal dialog around `content`; it leaves the page when it is closed. */
export function openDialog(title, content) {
	const heading = el("h2", { id: "dialog-title", text: title });
	const dialog = el("dialog", { "aria-labelledby": "dialog-title" },
		heading, content);
	dialog.addEventListener("close", () => dialog.remove());
	document.body.append(dialog);
	dialog.showModal();
	return dialog;
}

/* Asks; true when the answer was `yes`. */
export function confirmed({ title, message, yes }) {
	return new Promise((resolve) => {
		let answer = false;
		const no = el("button", { type: "button", text: "Cancel", autofocus: true });
		const sure = el("button", { type: "button", class: "danger", text: yes });
		const dialog = openDialog(title, el("div", {},
			el("p", { text: message }),
			el("div", { class: "dialog-actions" }, no, sure)));
		no.addEventListener("click", () => dialog.close());
		sure.addEventListener("click", () => {
			answer = true;
			dialog.close();
		});
		dialog.addEventListener("close", () => resolve(answer));
	});
}
