/* scope.js: what the key of the login may do. */
import { el } from "./dom.js";

/* A key of scope `read` may look, and change nothing. */
export function mayChange(me) {
	return me.scope !== "read";
}

/* Says why there are no buttons. */
export function readOnly() {
	return el("p", { class: "read-only", text: "Your key may only look (scope read)." });
}
