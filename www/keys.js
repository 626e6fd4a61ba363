/*
 * keys.js: what a terminal sends for a key.
 *
 * Characters are not here: they come as text, so that layouts, dead keys and
 * input methods are the browser's business.
 */

const CURSOR = { ArrowUp: "A", ArrowDown: "B", ArrowRight: "C", ArrowLeft: "D", Home: "H", End: "F" };
const TILDE = {
	Insert: 2, Delete: 3, PageUp: 5, PageDown: 6, F5: 15, F6: 17, F7: 18, F8: 19,
	F9: 20, F10: 21, F11: 23, F12: 24,
};
const FUNCTION = { F1: "P", F2: "Q", F3: "R", F4: "S" };
const SIMPLE = { Enter: "\r", Escape: "\x1b", Backspace: "\x7f", Tab: "\t" };
const CONTROLS = { "@": 0, " ": 0, "[": 27, "\\": 28, "]": 29, "^": 30, "6": 30, "_": 31, "-": 31, "?": 127, "/": 31 };

function control(key) {
	if (/^[a-z]$/i.test(key))
		return String.fromCharCode(key.toUpperCase().charCodeAt(0) & 31);
	return Object.hasOwn(CONTROLS, key) ? String.fromCharCode(CONTROLS[key]) : undefined;
}

/* The bytes of a keydown, or undefined: it is text, or the browser's own. */
export function keyBytes(event, modes) {
	const { key, shiftKey, altKey, ctrlKey, metaKey } = event;
	const mods = 1 + (shiftKey ? 1 : 0) + (altKey ? 2 : 0) + (ctrlKey ? 4 : 0);
	if (metaKey || event.isComposing)
		return undefined;
	if (key === "Tab" && shiftKey)
		return "\x1b[Z";
	if (Object.hasOwn(SIMPLE, key))
		return (altKey ? "\x1b" : "") + (key === "Backspace" && ctrlKey ? "\b" : SIMPLE[key]);
	if (Object.hasOwn(CURSOR, key))
		return mods > 1 ? `\x1b[1;${mods}${CURSOR[key]}`
			: `\x1b${modes.keys ? "O" : "["}${CURSOR[key]}`;
	if (Object.hasOwn(FUNCTION, key))
		return mods > 1 ? `\x1b[1;${mods}${FUNCTION[key]}` : `\x1bO${FUNCTION[key]}`;
	if (Object.hasOwn(TILDE, key))
		return `\x1b[${TILDE[key]}${mods > 1 ? `;${mods}` : ""}~`;
	if (ctrlKey && !altKey) /* with shift, letters are the browser's */
		return shiftKey && /^[a-z]$/i.test(key) ? undefined : control(key);
	if (altKey && !ctrlKey && key.length === 1 && !event.getModifierState("AltGraph"))
		return `\x1b${key}`;
	return undefined;
}

/* Pasted text, as if typed line by line; bracketed if the program asked for that. */
export function pasteBytes(text, modes) {
	const typed = text.replace(/\r?\n/g, "\r");
	return modes.paste ? `\x1b[200~${typed.replaceAll("\x1b", "")}\x1b[201~` : typed;
}
