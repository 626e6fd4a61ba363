/*
 * output.js: shows what a command writes, without a screen of a fixed size.
 *
 * Carriage returns, backspaces and erasing act on the last line, as progress bars
 * expect; colours are shown; every other control sequence is left out.
 */
import { drawRow, spanOf } from "./cells.js";
import { el } from "./dom.js";
import { PLAIN } from "./screen.js";
import { styleAfter } from "./vt.js";

const OUTPUT_MAX = 400000; /* characters that are kept */
const LINE_MAX = 10000; /* cells of the last line; a longer one is settled */
const HELD_MAX = 4096; /* characters of a sequence that is not complete */
const TAB = 8;

/* Text, a control character, or a sequence: CSI, OSC and its like, others. */
const TOKEN = /[^\x00-\x1f\x7f-\x9f]+|\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b[ -/]*[0-OQ-WYZ\\`-~]|[\x00-\x1a\x1c-\x1f\x7f-\x9f]/y;

const isText = (token) => token >= " " && !(token >= "\x7f" && token < "\xa0");

/* The last line: cells that can still be changed. */
class Line {
	constructor() {
		this.chars = [];
		this.styles = [];
		this.x = 0;
	}

	isNew() {
		return this.x === 0 && this.chars.length === 0;
	}

	put(text, style) {
		for (const char of text) {
			while (this.chars.length < this.x) {
				this.chars.push(" ");
				this.styles.push(PLAIN);
			}
			this.chars[this.x] = char;
			this.styles[this.x] = style;
			this.x++;
		}
	}

	/* 0: from the cursor on, 1: up to it, 2: all */
	erase(how) {
		if (how !== 1)
			this.chars.length = this.styles.length =
				Math.min(this.chars.length, how === 0 ? this.x : 0);
		else
			this.chars.fill(" ", 0, this.x + 1);
	}
}

const LINE_CSI = {
	"C": (line, n) => { line.x = Math.min(line.x + Math.max(n, 1), LINE_MAX); },
	"D": (line, n) => { line.x = Math.max(line.x - Math.max(n, 1), 0); },
	"G": (line, n) => { line.x = Math.min(Math.max(n, 1), LINE_MAX) - 1; },
	"K": (line, n) => line.erase(n),
};

const LINE_CONTROL = {
	"\r": (line) => { line.x = 0; },
	"\b": (line) => { line.x = Math.max(line.x - 1, 0); },
	"\t": (line) => line.put(" ".repeat(TAB - (line.x % TAB)), PLAIN),
};

/* Fills the element `into`; add() takes text of "stdout" or "stderr". */
export function outputView(into) {
	const live = el("span"); /* the last line, drawn anew */
	const styles = { stdout: PLAIN, stderr: Object.freeze({ stderr: true }) };
	const held = { stdout: "", stderr: "" };
	let line = new Line();
	let settled = []; /* runs of [text, style] that nothing changes any more */
	let size = 0;
	into.append(live);

	function settle(chars, style) {
		const last = settled.at(-1);
		if (last !== undefined && last[1] === style)
			last[0] += chars;
		else
			settled.push([chars, style]);
	}

	function settleLine(end) {
		line.chars.forEach((char, i) => settle(char, line.styles[i]));
		if (end !== "")
			settle(end, line.styles.at(-1) ?? PLAIN);
		line = new Line();
	}

	function sequence(kind, codes, final) {
		if (final === "m") {
			const next = styleAfter(styles[kind], codes);
			styles[kind] = kind === "stderr" ? { ...next, stderr: true } : next;
		} else if (Object.hasOwn(LINE_CSI, final)) {
			LINE_CSI[final](line, parseInt(codes, 10) || 0);
		}
	}

	function token(kind, [all, codes, final]) {
		if (all === "\n")
			settleLine("\n");
		else if (final !== undefined)
			sequence(kind, codes, final);
		else if (Object.hasOwn(LINE_CONTROL, all))
			LINE_CONTROL[all](line);
		else if (isText(all))
			line.put(all, styles[kind]);
		if (line.chars.length >= LINE_MAX)
			settleLine("");
	}

	function draw() {
		for (const [chars, style] of settled) {
			live.before(spanOf(chars, style));
			size += chars.length;
		}
		settled = [];
		while (size > OUTPUT_MAX && into.childElementCount > 2) {
			size -= into.firstElementChild.textContent.length;
			into.firstElementChild.remove();
			into.dataset.cut = "true";
		}
		drawRow(live, line, -1);
	}

	return {
		add(kind, data) {
			const whole = held[kind] + data;
			let at = 0;
			while (at < whole.length) {
				TOKEN.lastIndex = at;
				const found = TOKEN.exec(whole);
				if (found === null && whole.length - at < HELD_MAX)
					break; /* the rest of the sequence is yet to come */
				at = found === null ? at + 1 : TOKEN.lastIndex;
				if (found === null)
					continue;
				if (whole[at] === "\n" && isText(found[0]) && line.isNew()) {
					settle(`${found[0]}\n`, styles[kind]); /* most lines: no cells */
					at++;
				} else {
					token(kind, found);
				}
			}
			held[kind] = whole.slice(at);
			draw();
		},
	};
}

/* A text that is complete, shown as a command's output is. */
export function outputOf(text, props = {}) {
	const node = el("pre", { class: "output cells", tabindex: "0", ...props });
	outputView(node).add("stdout", text);
	return node;
}
