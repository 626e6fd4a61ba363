/* setup.js: why a session's setup failed, on top of its page. */
import { el, text } from "./dom.js";
import { outputOf } from "./output.js";

/* A box that is hidden unless the setup failed; set() shows the session's. */
export function setupBox() {
	const title = el("strong");
	const place = el("div");
	const node = el("section", { class: "notice setup", "aria-label": "Setup", hidden: true },
		el("div", {}, title, place));
	let shown = null;
	return {
		node,
		set({ setup }) {
			node.hidden = setup?.state !== "failed";
			if (node.hidden || setup.output === shown)
				return;
			shown = setup.output;
			text(title, `The setup failed (exit ${setup.exitCode}).`);
			place.replaceChildren(shown ? outputOf(shown, { "aria-label": "Output of the setup" })
				: el("p", { text: "The setup wrote no output." }));
			/* the error is usually at the end */
			requestAnimationFrame(() => { place.firstElementChild.scrollTop = 1e6; });
		},
	};
}
