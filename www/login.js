/* login.js: in with an API key. */
import { busyWhile, el } from "./dom.js";

export function loginView(main, { enter, fail }) {
	document.title = "Log in \u00b7 Sandlease";
	const key = el("input", {
		type: "password", id: "key", name: "key", required: true,
		autocomplete: "current-password", spellcheck: "false",
		autocapitalize: "off", placeholder: "sl_\u2026",
		"aria-describedby": "key-error key-help", "data-focus": true,
	});
	const error = el("p", { class: "field-error", id: "key-error", role: "alert" });
	const submit = el("button", { class: "primary", text: "Log in" });

	function refused(problem) {
		if (problem.status !== 401 && problem.status !== 400) {
			fail(problem);
			return;
		}
		error.textContent = problem.detail || "This key is not accepted.";
		key.setAttribute("aria-invalid", "true");
		key.focus();
		key.select();
	}

	main.append(el("form", {
		class: "card login",
		on: {
			submit: (event) => {
				event.preventDefault();
				error.textContent = "";
				key.removeAttribute("aria-invalid");
				busyWhile(submit, () => enter(key.value.trim()), refused);
			},
		},
	},
		el("h1", { text: "Log in" }),
		el("label", { for: "key", text: "API key" }),
		key, error, submit,
		el("p", { class: "help", id: "key-help" },
			"Keys are made on the server with ",
			el("code", { text: "sandlease-admin key create" }), ".")));
}
