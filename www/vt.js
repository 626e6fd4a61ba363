/*
 * vt.js: reads what programs write to a terminal, and does it to a screen.
 *
 * The sequences of an xterm that shells, editors and pagers use.  What is not
 * known is read to its end and forgotten; a sequence may come in pieces.
 */
import { PLAIN } from "./screen.js";

const SEQUENCE_MAX = 4096; /* characters of one; a longer one is cut */
const LINES = "\u25c6\u2592\u2409\u240c\u240d\u240a\u00b0\u00b1\u2424\u240b\u2518\u2510\u250c\u2514\u253c\u23ba\u23bb\u2500\u23bc\u23bd\u251c\u2524\u2534\u252c\u2502\u2264\u2265\u03c0\u2260\u00a3\u00b7"; /* for ` to ~ */

/* ---- styles */

const FLAGS = {
	1: { bold: true }, 2: { dim: true }, 3: { italic: true }, 4: { underline: true },
	7: { inverse: true }, 8: { hidden: true }, 9: { strike: true }, 21: { underline: true },
	22: { bold: undefined, dim: undefined }, 23: { italic: undefined },
	24: { underline: undefined }, 27: { inverse: undefined }, 28: { hidden: undefined },
	29: { strike: undefined }, 39: { fore: undefined }, 49: { back: undefined },
};

/* A number of the palette, or {r, g, b}, after 38 or 48; takes what it reads. */
function color(rest) {
	const kind = rest.shift();
	if (kind === 5)
		return (rest.shift() ?? 0) & 255;
	if (kind !== 2)
		return undefined;
	const [r, g, b] = rest.splice(0, 3).map((n) => n & 255);
	return b === undefined ? undefined : { r, g, b };
}

/* The style that follows from another one and the numbers of an SGR sequence. */
function restyle(style, codes) {
	const rest = codes.length === 0 ? [0] : [...codes];
	let now = style;
	while (rest.length > 0) {
		const code = rest.shift();
		if (code === 0)
			now = PLAIN;
		else if (code === 38)
			now = { ...now, fore: color(rest) };
		else if (code === 48)
			now = { ...now, back: color(rest) };
		else if (code === 58)
			color(rest);
		else if (code >= 30 && code <= 37)
			now = { ...now, fore: code - 30 };
		else if (code >= 40 && code <= 47)
			now = { ...now, back: code - 40 };
		else if (code >= 90 && code <= 97)
			now = { ...now, fore: code - 82 };
		else if (code >= 100 && code <= 107)
			now = { ...now, back: code - 92 };
		else if (code in FLAGS)
			now = { ...now, ...FLAGS[code] };
	}
	return now;
}

/* 38:2::1:2:3 as 38;2;1;2;3, and 4:3 as 4. */
function plainCodes(text) {
	return text.replace(/(^|;)([345]8):2:[0-9]*:([0-9]+:[0-9]+:[0-9]+)/g, "$1$2:2:$3")
		.replace(/(^|;)([345]8):([0-9:]+)/g, (all) => all.replaceAll(":", ";"))
		.replace(/:[0-9:]*/g, "");
}

/* The numbers of a sequence: at most 32, of at most five digits each. */
function numbersOf(codes) {
	return codes === "" ? []
		: codes.split(";").slice(0, 32).map((n) => Math.min(parseInt(n, 10) || 0, 99999));
}

/* The same of the sequence's text, as it stands between "ESC [" and "m". */
export function styleAfter(style, text) {
	return restyle(style, numbersOf(plainCodes(text)));
}

/*
 * ---- what a sequence does: (screen, its numbers, the terminal)
 *
 * A few bytes must not keep the page busy: whatever the number, a sequence goes
 * from cell to cell for at most a row, and does nothing to every cell of a screen.
 */

/* Of most the first number counts: at least 1, or as it is. */
const n1 = (action) => (s, p, t) => action(s, Math.max(p[0] ?? 0, 1), t);
const n0 = (action) => (s, p, t) => action(s, p[0] ?? 0, t);

const CSI = {
	"@": n1((s, n) => s.insertCells(n)),
	"A": n1((s, n) => s.move(0, -n)),
	"B": n1((s, n) => s.move(0, n)),
	"C": n1((s, n) => s.move(n, 0)),
	"D": n1((s, n) => s.move(-n, 0)),
	"E": n1((s, n) => { s.move(0, n); s.to(0, s.y); }),
	"F": n1((s, n) => { s.move(0, -n); s.to(0, s.y); }),
	"G": n1((s, n) => s.to(n - 1, s.y)),
	"H": (s, p) => s.goto(p[1] || 1, p[0] || 1),
	"I": n1((s, n) => s.tab(Math.min(n, s.cols))),
	"J": n0((s, n, t) => (n === 3 ? t.clear() : n < 3 && s.eraseScreen(n))),
	"K": n0((s, n) => n < 3 && s.eraseLine(n)),
	"L": n1((s, n) => s.shift(-n)),
	"M": n1((s, n) => s.shift(n)),
	"P": n1((s, n) => s.deleteCells(n)),
	"S": n1((s, n) => s.scroll(n)),
	"T": n1((s, n) => s.scroll(-n)),
	"X": n1((s, n) => s.erase(s.y, s.x, Math.min(s.x + n, s.cols))),
	"Z": n1((s, n) => s.tab(-Math.min(n, s.cols))),
	"a": n1((s, n) => s.move(n, 0)),
	"b": n1((s, n, t) => s.repeat(t.last, n)),
	"c": n0((s, n, t) => t.reply("\x1b[?6c")),
	">c": n0((s, n, t) => t.reply("\x1b[>0;10;1c")),
	"d": n1((s, n) => s.goto(s.x + 1, n)),
	"e": n1((s, n) => s.move(0, n)),
	"g": n0((s, n) => (n === 3 ? s.tabs.clear() : s.tabs.delete(s.x))),
	"h": (s, p) => set(s, p, MODES, true),
	"l": (s, p) => set(s, p, MODES, false),
	"?h": (s, p) => set(s, p, PRIVATE_MODES, true),
	"?l": (s, p) => set(s, p, PRIVATE_MODES, false),
	"n": n0((s, n, t) => {
		if (n === 5)
			t.reply("\x1b[0n");
		if (n === 6)
			t.reply(`\x1b[${s.y + 1 - (s.modes.origin ? s.top : 0)};${s.x + 1}R`);
	}),
	"r": (s, p) => { s.region(p[0] || 1, p[1] || s.rows); s.goto(1, 1); },
	"s": (s) => s.save(),
	"u": (s) => s.restore(),
	"!p": (s) => { s.style = PLAIN; s.region(); Object.assign(s.modes, { wrap: true,
		origin: false, insert: false, keys: false, cursor: true }); },
};
CSI["`"] = CSI.G;
CSI.f = CSI.H;

function set(s, numbers, table, on) {
	for (const n of numbers)
		table[n]?.(s, on);
}

const MODES = { 4: (s, on) => { s.modes.insert = on; } };

const PRIVATE_MODES = {
	1: (s, on) => { s.modes.keys = on; },
	6: (s, on) => { s.modes.origin = on; s.goto(1, 1); },
	7: (s, on) => { s.modes.wrap = on; },
	25: (s, on) => { s.modes.cursor = on; s.touch(s.y); },
	47: (s, on) => s.alternate(on),
	1047: (s, on) => s.alternate(on),
	1048: (s, on) => (on ? s.save() : s.restore()),
	1049: (s, on) => {
		if (on)
			s.save();
		s.alternate(on);
		if (!on)
			s.restore();
	},
	1000: (s, on) => { s.modes.mouse = on ? 1000 : 0; },
	1002: (s, on) => { s.modes.mouse = on ? 1002 : 0; },
	1003: (s, on) => { s.modes.mouse = on ? 1003 : 0; },
	1006: (s, on) => { s.modes.mouseSgr = on; },
	2004: (s, on) => { s.modes.paste = on; },
};

const ESC = {
	"7": (s) => s.save(),
	"8": (s) => s.restore(),
	"D": (s) => s.feed(),
	"E": (s) => { s.to(0, s.y); s.feed(); },
	"H": (s) => s.tabs.add(s.x),
	"M": (s) => s.back(),
	"c": (s, t) => { t.charsets = ["B", "B"]; s.reset(); },
};

const CONTROL = {
	"\b": (s) => s.to(s.x - 1, s.y),
	"\t": (s) => s.tab(1),
	"\n": (s) => s.feed(),
	"\v": (s) => s.feed(),
	"\f": (s) => s.feed(),
	"\r": (s) => s.to(0, s.y),
	"\x0e": (s, t) => { t.shift = 1; },
	"\x0f": (s, t) => { t.shift = 0; },
};

/* ---- reading */

export class Terminal {
	/* `reply` sends an answer to the program, `clear` forgets what has left. */
	constructor(screen, { reply = () => {}, clear = () => {}, title = () => {} } = {}) {
		Object.assign(this, { screen, reply, clear, title });
		this.state = this.ground;
		this.sequence = "";
		this.charsets = ["B", "B"];
		this.shift = 0;
		this.last = " ";
	}

	write(text) {
		for (const char of text)
			this.state(char);
	}

	ground(char) {
		if (char >= " " && char !== "\x7f" && !(char >= "\x80" && char < "\xa0")) {
			this.last = this.charsets[this.shift] === "0" && char >= "`" && char <= "~"
				? LINES[char.charCodeAt(0) - 96] : char;
			this.screen.put(this.last);
		} else {
			this.control(char);
		}
	}

	control(char) {
		if (char === "\x1b")
			this.begin(this.escape);
		else if (char === "\x18" || char === "\x1a")
			this.state = this.ground;
		else
			CONTROL[char]?.(this.screen, this);
	}

	begin(state) {
		this.sequence = "";
		this.state = state;
	}

	collect(char) {
		if (this.sequence.length < SEQUENCE_MAX)
			this.sequence += char;
	}

	escape(char) {
		if (char < " ")
			return this.control(char);
		if (char >= "\x20" && char <= "\x2f") /* ( ) # and the like: one more */
			return this.collect(char);
		this.state = this.ground;
		if (this.sequence === "(" || this.sequence === ")")
			this.charsets[this.sequence === "(" ? 0 : 1] = char;
		else if (this.sequence !== "")
			return undefined;
		else if (char === "[")
			this.begin(this.csi);
		else if (char === "]")
			this.begin(this.osc);
		else if ("PX^_".includes(char))
			this.begin(this.string);
		else
			ESC[char]?.(this.screen, this);
		return undefined;
	}

	csi(char) {
		if (char < " ")
			return this.control(char);
		if (char < "@")
			return this.collect(char);
		this.state = this.ground;
		const [, prefix, text, between] =
			this.sequence.match(/^([<-?]?)([0-9;:]*)(.*)$/s);
		const name = prefix + between + char;
		if (name === "m")
			this.screen.style = styleAfter(this.screen.style, text);
		else if (Object.hasOwn(CSI, name))
			CSI[name](this.screen, numbersOf(text), this);
		return undefined;
	}

	osc(char) {
		if (char !== "\x07" && char !== "\x1b" && char !== "\x9c")
			return this.collect(char);
		const [, number, rest] = this.sequence.match(/^([0-9]*);?(.*)$/s);
		if (number === "0" || number === "2")
			this.title(rest);
		return this.leave(char);
	}

	string(char) {
		if (char === "\x07" || char === "\x1b" || char === "\x9c" || char === "\x18")
			this.leave(char);
	}

	/* An ESC is the first half of ST, or begins the next sequence. */
	leave(char) {
		if (char === "\x1b")
			this.begin(this.escape);
		else
			this.state = this.ground;
	}
}
