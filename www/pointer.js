/*
 * pointer.js: the wheel and the mouse in a terminal.
 *
 * A program that asked for the mouse (DECSET 1000, 1002, 1003) gets reports.
 * Other full-screen programs get arrow keys for the wheel.  With Shift held, and
 * everywhere else, wheel and mouse are the browser's: they scroll and select.
 */
import { keyBytes } from "./keys.js";

const WHEEL_UP = 64;
const WHEEL_DOWN = 65;
const MOVED = 32;
const NO_BUTTON = 3;
const LEGACY_MAX = 94; /* beyond this a coordinate is no ASCII character */
const LINE_PX = 17;

function modifiers({ altKey, ctrlKey }) {
	return (altKey ? 8 : 0) + (ctrlKey ? 16 : 0);
}

/* The bytes that report a button at a cell, or "" where they cannot say it. */
export function mouseReport(modes, button, { x, y }, released) {
	if (modes.mouseSgr)
		return `\x1b[<${button};${x};${y}${released ? "m" : "M"}`;
	if (x > LEGACY_MAX || y > LEGACY_MAX)
		return "";
	const code = released ? (button & ~3) + NO_BUTTON : button;
	return `\x1b[M${String.fromCharCode(32 + code, 32 + x, 32 + y)}`;
}

/* How many lines a turn of the wheel means; `rest` keeps parts of a line. */
function wheelLines(event, rows, rest) {
	const unit = [1 / LINE_PX, 1, rows][event.deltaMode] ?? 1;
	const turned = rest.lines + event.deltaY * unit;
	const lines = Math.trunc(turned);
	rest.lines = turned - lines;
	return Math.min(Math.max(lines, -rows), rows);
}

/*
 * Listens to wheel and mouse of `view`; of() is { screen, picture } or null while
 * nothing is connected, send() types.
 */
export function watchPointer(view, of, send) {
	const rest = { lines: 0 };
	let pressed = null; /* the button a program was told of */
	let last = "";

	function report(event, button, released = false) {
		const { screen, picture } = of();
		const cell = picture.cellAt(event, screen);
		last = `${cell.x} ${cell.y}`;
		send(mouseReport(screen.modes, button + modifiers(event), cell, released));
	}

	view.addEventListener("wheel", (event) => {
		const now = of();
		if (now === null || event.shiftKey || event.deltaY === 0)
			return;
		const { modes, rows, other } = now.screen;
		if (modes.mouse) {
			event.preventDefault();
			report(event, event.deltaY < 0 ? WHEEL_UP : WHEEL_DOWN);
		} else if (other !== null) {
			event.preventDefault();
			const lines = wheelLines(event, rows, rest);
			const key = { key: lines < 0 ? "ArrowUp" : "ArrowDown" };
			send(keyBytes(key, modes).repeat(Math.abs(lines)));
		}
	}, { passive: false });

	view.addEventListener("mousedown", (event) => {
		if (!of()?.screen.modes.mouse || event.shiftKey || event.button > 2)
			return;
		event.preventDefault(); /* or the browser selects text as well */
		pressed = event.button;
		report(event, pressed);
	});
	view.addEventListener("mousemove", (event) => {
		const modes = of()?.screen.modes;
		if (!(modes?.mouse >= 1003 || (modes?.mouse === 1002 && pressed !== null)))
			return;
		const { screen, picture } = of();
		const cell = picture.cellAt(event, screen);
		if (last !== `${cell.x} ${cell.y}`)
			report(event, MOVED + (pressed ?? NO_BUTTON));
	});
	/* on the document: a button may be let go outside of the terminal */
	const release = (event) => {
		if (pressed === null)
			return;
		if (of()?.screen.modes.mouse)
			report(event, pressed, true);
		pressed = null;
	};
	document.addEventListener("mouseup", release);
	return () => document.removeEventListener("mouseup", release);
}
