/*
 * dom.js: building and changing the page.
 *
 * Everything that comes from outside enters the document as text or as an
 * attribute value, never as markup.
 */

/*
 * An element.  In `props`, `on` holds listeners, `text` the content; anything
 * else is an attribute: true is an empty one, false, null and undefined none.
 */
export function el(tag, props = {}, ...children) {
	const node = document.createElement(tag);
	for (const [name, value] of Object.entries(props)) {
		if (name === "on") {
			for (const [event, listener] of Object.entries(value))
				node.addEventListener(event, listener);
		} else if (name === "text") {
			node.textContent = value;
		} else {
			attr(node, name, value);
		}
	}
	node.append(...children.filter((c) => c !== null && c !== undefined));
	return node;
}

export function attr(node, name, value) {
	if (value === false || value === null || value === undefined)
		node.removeAttribute(name);
	else if (node.getAttribute(name) !== String(value))
		node.setAttribute(name, value === true ? "" : value);
}

/* Sets the text if it is another one, so that a selection survives. */
export function text(node, value) {
	if (node.textContent !== value)
		node.textContent = value;
}

/*
 * Makes the children of `parent` one per item, in order; those whose key is
 * known are changed in place, so that focus and scrolling survive a refresh.
 */
export function keyed(parent, items, keyOf, make, change) {
	const known = new Map();
	for (const child of parent.children)
		known.set(child.dataset.key, child);
	let at = parent.firstElementChild;
	for (const item of items) {
		const key = String(keyOf(item));
		let node = known.get(key);
		if (node === undefined) {
			node = make(item);
			node.dataset.key = key;
		}
		known.delete(key);
		change(node, item);
		if (node === at)
			at = at.nextElementSibling;
		else
			parent.insertBefore(node, at);
	}
	for (const node of known.values())
		node.remove();
}

/*
 * A button whose action may take time: it is off meanwhile, and what goes
 * wrong is given to `fail`.
 */
export function actionButton(label, props, action, fail) {
	const button = el("button", { type: "button", text: label, ...props });
	button.addEventListener("click", () => busyWhile(button, action, fail));
	return button;
}

export async function busyWhile(button, action, fail) {
	if (button.getAttribute("aria-busy") === "true")
		return;
	button.setAttribute("aria-busy", "true");
	try {
		await action();
	} catch (error) {
		fail(error);
	} finally {
		button.removeAttribute("aria-busy");
	}
}

/* Copies, and says so on the button for a moment. */
export function copyButton(what, value) {
	const button = el("button", {
		type: "button", class: "quiet small", text: "Copy",
		"aria-label": `Copy ${what}`,
	});
	button.addEventListener("click", async () => {
		try {
			await navigator.clipboard.writeText(value());
			button.textContent = "Copied";
		} catch {
			button.textContent = "Not allowed";
		}
		setTimeout(() => { button.textContent = "Copy"; }, 1500);
	});
	return button;
}
