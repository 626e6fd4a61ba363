/* scope.js: what the key of the login may do. */
import { el } from "./dom.js";

/* Whether the login's key may change something: scope `read` may not. */
export function mayChange(me) {
	return me.scope !== "read";
}

/* The text that stands where the buttons would be. */
export function readOnly() {
	return el("p", { class: "read-only", text: "Your key has scope read: it can change nothing." });
}
