/*
 * vt.mjs DIR: tests that no sequence costs more than a few rows of work; DIR
 * has vt.js and screen.js.
 *
 * The test counts two things: cells that are written, also by fill and splice,
 * and steps, which are calls of a screen's methods.
 */
const [{ Screen }, { Terminal }] = await Promise.all(["screen", "vt"].map((name) =>
	import(`${process.argv[2]}/${name}.js`)));

const COLS = 90;
const ROWS = 40;
/* A few rows, with a character and a style for each cell; far less than a screen. */
const CELLS_MAX = 8 * 2 * COLS;
const STEPS_MAX = 8 * (COLS + ROWS);

const spent = { cells: 0, steps: 0 };

/* An array of cells that counts the writes to it. */
const counted = (cells) => new Proxy(cells, {
	set(to, name, value) {
		spent.cells += name === "length" ? 0 : 1;
		return Reflect.set(to, name, value);
	},
});

class CountedScreen extends Screen {
	row(chars, styles) {
		spent.cells += chars.length + styles.length;
		return super.row(counted(chars), counted(styles));
	}
}
for (const name of Object.getOwnPropertyNames(Screen.prototype)) {
	const method = CountedScreen.prototype[name];
	if (name !== "constructor")
		CountedScreen.prototype[name] = function count(...args) {
			spent.steps++;
			return method.apply(this, args);
		};
}

/* Screens on which a sequence with a large count could cost more. */
const STATES = {
	"an empty screen": "",
	"text and a cursor in the last cell": `x\x1b[${ROWS};${COLS}Hx`,
	"insert mode": "\x1b[4hx",
	"insert mode, a wide character": "\x1b[4h\u65e5",
	"a combining mark": "e\u0301",
	"no tab stops": "\x1b[3gx",
	"a region of two rows, its last cell": `\x1b[3;4r\x1b[4;${COLS}Hx`,
	"the other screen": "\x1b[?1049hx",
	"a style": "\x1b[38;2;1;2;3;48;5;200mx",
};

/* Every possible final byte, known or not, also with the largest counts. */
function sequences() {
	const all = ["\x1bc", "\t", "\n", "\b", "\r", "x", "\u65e5", "\u0301"];
	for (let code = 0x40; code < 0x7f; code++) {
		const final = String.fromCharCode(code);
		for (const prefix of ["", "?", ">", "!", "="])
			for (const numbers of ["", "0", "1", "2", "3", "99999", "99999999999999999999",
				"99999;99999", "1;99999", Array(99).fill(99999).join(";"),
				Array(99).fill("1049;6;1048").join(";")])
				all.push(`\x1b[${prefix}${numbers}${final}`);
		if (!"[]PX^_".includes(final))
			all.push(`\x1b${final}`);
	}
	for (let code = 0x30; code < 0x40; code++)
		all.push(`\x1b${String.fromCharCode(code)}`);
	return all;
}

let count = 0;
let failed = 0;

function is(good, name, more) {
	console.log(`${good ? "ok" : "not ok"} ${++count} - ${name}`);
	if (!good) {
		failed++;
		console.log(`# ${more}`);
	}
}

for (const [name, before] of Object.entries(STATES)) {
	const dear = [];
	for (const sequence of sequences()) {
		const terminal = new Terminal(new CountedScreen(COLS, ROWS));
		terminal.write(before);
		[spent.cells, spent.steps] = [0, 0];
		terminal.write(sequence);
		if (spent.cells > CELLS_MAX || spent.steps > STEPS_MAX)
			dear.push(`${JSON.stringify(sequence.slice(0, 20))}: ${spent.cells} cells, ${spent.steps} steps`);
	}
	is(dear.length === 0, `no sequence costs more than a few rows: ${name}`,
		`${dear.length} do: ${dear.slice(0, 5).join("; ")}`);
}

/* Checks that the optimised sequences still show the right rows. */
function shows(cols, rows, data, want, left = 0) {
	const gone = [];
	const screen = new Screen(cols, rows, (row) => gone.push(row));
	new Terminal(screen).write(data);
	const lines = screen.lines.map((line) => line.chars.join("").trimEnd());
	is(JSON.stringify([lines, gone.length]) === JSON.stringify([want, left]),
		`${JSON.stringify(data)} is shown`, JSON.stringify([lines, gone.length]));
}

const FOUR = "1\r\n2\r\n3\r\n4";
shows(5, 1, "a\x1b[3b", ["aaaa"]);
shows(5, 2, "a\x1b[99999b", ["aaaaa", "a"]);
shows(5, 2, "ab\x1b[1G\x1b[4hx\x1b[2b", ["xxxab", ""]);
shows(5, 2, "abcde\x1b[1G\x1b[4hx\x1b[99b", ["xxxxx", "x"]);
shows(5, 2, "\u65e5\x1b[99b", ["\u65e5\u65e5", "\u65e5"]);
shows(5, 4, `${FOUR}\x1b[S`, ["2", "3", "4", ""], 1);
shows(5, 4, `${FOUR}\x1b[3S`, ["4", "", "", ""], 3);
shows(5, 4, `${FOUR}\x1b[99S`, ["", "", "", ""], 4);
shows(5, 4, `${FOUR}\x1b[T`, ["", "1", "2", "3"]);
shows(5, 4, `${FOUR}\x1b[2T`, ["", "", "1", "2"]);
shows(5, 4, `${FOUR}\x1b[99T`, ["", "", "", ""]);
shows(5, 4, `${FOUR}\x1b[2;3r\x1b[99S`, ["1", "", "", "4"]);
shows(5, 4, `${FOUR}\x1b[2;3r\x1b[1S`, ["1", "3", "", "4"]);
shows(5, 4, `${FOUR}\x1b[2;3r\x1b[1T`, ["1", "", "2", "4"]);
shows(5, 4, `${FOUR}\x1b[2H\x1b[99M`, ["1", "", "", ""]);
shows(5, 4, `${FOUR}\x1b[2H\x1b[1M`, ["1", "3", "4", ""]);
shows(5, 4, `${FOUR}\x1b[2H\x1b[1L`, ["1", "", "2", "3"]);
shows(5, 4, `${FOUR}\x1b[2J\x1b[2Hx\x1b[4Hy`, ["", "x", "", "y"]);
shows(5, 3, "x\x1bc\x1b[2Hy\x1b[?1049hz\x1b[?1049l", ["", "y", ""]);
shows(5, 3, "abc\x1b[2D\x1b[Kx\x1b[2;1Hy\x1b[1K", ["ax", "", ""]);

console.log(`1..${count}`);
process.exit(failed === 0 ? 0 : 1);
