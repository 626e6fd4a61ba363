/*
 * screen.js: the cells of a terminal, and what can be done to them.
 *
 * No document and no control sequences here: vt.js reads those, terminal.js
 * draws the rows.  A row is two arrays, characters and styles; "" is the right
 * half of a wide character.  A style is never changed, only replaced, so that
 * cells of one run share it.  A row that was touched is `dirty`; one whose text
 * goes on in the next row is `wrapped`.  All empty rows
 * are one and the same until something is written to them: a screen is cleared
 * or scrolled without a look at its cells.
 */

export const PLAIN = Object.freeze({});

/* Characters that take two cells: scripts of East Asia, and emoji. */
const WIDE = /^[\u1100-\u115f\u231a\u231b\u23e9-\u23f3\u2614\u2615\u2648-\u2653\u267f\u2693\u26a1\u26ce\u26d4\u26ea\u26f2-\u26fd\u2705\u270a\u270b\u2728\u274c\u274e\u2753-\u2757\u2795-\u2797\u27b0\u2b1b\u2b1c\u2b50\u2b55\u2e80-\u303e\u3041-\u33ff\u3400-\u4dbf\u4e00-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe10-\ufe19\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1f64f}\u{1f680}-\u{1f6ff}\u{1f900}-\u{1f9ff}\u{1fa70}-\u{1faff}\u{20000}-\u{3fffd}]/u;
const MARK = /^[\p{Mn}\p{Me}\u200b-\u200f\u2060\ufe00-\ufe0f\ufeff]/u;

function widthOf(char) {
	if (char < "\u0300")
		return 1;
	return MARK.test(char) ? 0 : WIDE.test(char) ? 2 : 1;
}

/* Where tabs stop unless a program says otherwise. */
const TABS = Array.from({ length: 127 }, (none, i) => 8 * (i + 1));

const clamp = (n, low, high) => Math.min(Math.max(n, low), high);

export class Screen {
	/* `leave` is called with each row that scrolls out at the top. */
	constructor(cols, rows, leave = () => {}) {
		this.cols = cols;
		this.rows = rows;
		this.leave = leave;
		this.reset();
	}

	reset() {
		this.style = PLAIN;
		this.modes = { wrap: true, origin: false, insert: false, keys: false,
			paste: false, cursor: true, mouse: 0, mouseSgr: false };
		this.other = null; /* the main screen, while another one is shown */
		this.lines = this.blanks(this.rows);
		this.tabs = new Set(TABS);
		this.region();
		this.to(0, 0);
		this.saved = this.place();
	}

	row(chars, styles) {
		return { chars, styles, dirty: true, shared: false, wrapped: false };
	}

	/* The empty row; made anew for another width or background. */
	blank() {
		const back = this.style.back;
		if (this.empty?.chars.length !== this.cols || this.emptyBack !== back) {
			this.empty = this.row(Array(this.cols).fill(" "),
				Array(this.cols).fill(this.ground()));
			this.empty.shared = true;
			this.emptyBack = back;
		}
		return this.empty;
	}

	blanks(count) {
		return Array(count).fill(this.blank());
	}

	/* An erased cell takes the current background. */
	ground() {
		return this.style.back === undefined ? PLAIN : { back: this.style.back };
	}

	/* ---- where */

	to(x, y) {
		this.x = clamp(x, 0, this.cols - 1);
		this.y = clamp(y, 0, this.rows - 1);
		this.full = false; /* the next character begins a new row */
	}

	/* As programs count: from 1, and within the region if that was said. */
	goto(column, row) {
		const origin = this.modes.origin;
		this.to(column - 1, origin
			? clamp(row - 1 + this.top, this.top, this.bottom) : row - 1);
	}

	/* Up and down stop at the region's edge, if they begin inside of it. */
	move(dx, dy) {
		const low = this.y >= this.top ? this.top : 0;
		const high = this.y <= this.bottom ? this.bottom : this.rows - 1;
		this.to(this.x + dx, clamp(this.y + dy, low, high));
	}

	tab(n) {
		const step = Math.sign(n);
		for (let left = Math.abs(n); left > 0; left--)
			do
				this.to(this.x + step, this.y);
			while (this.x > 0 && this.x < this.cols - 1 && !this.tabs.has(this.x));
	}

	region(top = 1, bottom = this.rows) {
		[this.top, this.bottom] = [0, this.rows - 1];
		if (top < bottom && bottom <= this.rows)
			[this.top, this.bottom] = [top - 1, bottom - 1];
	}

	place() {
		return { x: this.x, y: this.y, style: this.style, origin: this.modes.origin };
	}

	save() {
		this.saved = this.place();
	}

	restore() {
		this.style = this.saved.style;
		this.modes.origin = this.saved.origin;
		this.to(this.saved.x, this.saved.y);
	}

	/* ---- writing */

	put(char) {
		const width = widthOf(char);
		if (width === 0)
			return this.combine(char);
		this.wrap(width);
		if (this.modes.insert)
			this.insertCells(width);
		this.write(char, width);
	}

	/* Writes a run of narrow characters, up to a row; room is made once for all of them. */
	repeat(char, n) {
		const width = widthOf(char);
		if (width === 0)
			return this.combine(char);
		const count = Math.min(n, Math.floor(this.cols / width));
		this.wrap(width);
		if (this.modes.insert)
			this.insertCells(count * width);
		for (let left = count; left > 0; left--) {
			this.wrap(width);
			this.write(char, width);
		}
	}

	wrap(width) {
		if (this.modes.wrap && (this.full || this.x + width > this.cols)) {
			this.touch(this.y).wrapped = true;
			this.to(0, this.y);
			this.feed();
		}
	}

	write(char, width) {
		const line = this.touch(this.y);
		this.set(line, this.x, char);
		if (width === 2 && this.x + 1 < this.cols)
			this.set(line, this.x + 1, "");
		this.full = this.x + width >= this.cols;
		this.x = Math.min(this.x + width, this.cols - 1);
	}

	set(line, x, char) {
		if (char !== "" && line.chars[x] === "" && x > 0)
			line.chars[x - 1] = " "; /* the other half of a wide character */
		if (line.chars[x + 1] === "")
			line.chars[x + 1] = " ";
		line.chars[x] = char;
		line.styles[x] = this.style;
	}

	combine(mark) {
		const line = this.touch(this.y);
		let x = this.full ? this.x : this.x - 1;
		if (x > 0 && line.chars[x] === "")
			x--;
		if (x >= 0 && line.chars[x].length < 32)
			line.chars[x] += mark;
	}

	touch(y) {
		const line = this.lines[y];
		if (line.shared)
			this.lines[y] = this.row([...line.chars], [...line.styles]);
		this.lines[y].dirty = true;
		return this.lines[y];
	}

	feed() {
		if (this.y === this.bottom)
			this.scroll(1);
		else
			this.to(this.x, this.y + 1);
	}

	back() {
		if (this.y === this.top)
			this.scroll(-1);
		else
			this.to(this.x, this.y - 1);
	}

	/* ---- moving rows and cells: n > 0 is up, n < 0 down */

	scroll(n, top = this.top, kept = top === 0 && this.other === null) {
		const count = Math.min(Math.abs(n), this.bottom - top + 1);
		const last = this.bottom - count + 1;
		const [from, to] = n > 0 ? [top, last] : [last, top];
		const gone = this.lines.splice(from, count);
		if (n > 0 && kept)
			gone.forEach((row) => this.leave(row));
		this.lines.splice(to, 0, ...this.blanks(count));
	}

	/* From here to the region's end; deleted rows do not go into the history. */
	shift(n) {
		if (this.y < this.top || this.y > this.bottom)
			return;
		this.scroll(n, this.y, false);
		this.to(0, this.y);
	}

	insertCells(n) {
		this.splice(Math.min(n, this.cols - this.x), 0);
	}

	deleteCells(n) {
		this.splice(0, Math.min(n, this.cols - this.x));
	}

	splice(more, fewer) {
		const line = this.touch(this.y);
		for (const [cells, fill] of [[line.chars, " "], [line.styles, this.ground()]]) {
			cells.splice(this.x, fewer, ...Array(more).fill(fill));
			cells.push(...Array(fewer).fill(fill));
			cells.length = this.cols;
		}
	}

	/* ---- erasing */

	erase(y, from, to) {
		if (from === 0 && to === this.cols) {
			this.lines[y] = this.blank();
			return;
		}
		const line = this.touch(y);
		line.chars.fill(" ", from, to);
		line.styles.fill(this.ground(), from, to);
		if (to === this.cols)
			line.wrapped = false;
	}

	/* 0: from here on, 1: up to here, 2: all of it */
	eraseLine(how) {
		this.erase(this.y, how === 0 ? this.x : 0, how === 1 ? this.x + 1 : this.cols);
	}

	eraseScreen(how) {
		const [from, to] = [[this.y + 1, this.rows], [0, this.y], [0, this.rows]][how];
		for (let y = from; y < to; y++)
			this.erase(y, 0, this.cols);
		if (how < 2)
			this.eraseLine(how);
	}

	/* ---- another screen, another size */

	/* Programs that take the whole screen leave the one before as it was. */
	alternate(on) {
		if (on === (this.other !== null))
			return;
		if (on) {
			this.other = this.lines;
			this.lines = this.blanks(this.rows);
		} else {
			this.lines = this.other;
			this.other = null;
			this.lines.forEach((line) => { line.dirty = true; });
		}
	}

	/* Empty rows go first, then those at the top. */
	resize(cols, rows) {
		const main = this.other ?? this.lines;
		let lost = 0;
		this.cols = cols;
		for (const lines of new Set([main, this.lines])) {
			const shown = lines === this.lines;
			const last = shown ? this.y : this.saved.y;
			while (lines.length > rows && lines.length - 1 > last &&
				lines.at(-1).chars.every((c) => c === " "))
				lines.pop();
			while (lines.length > rows) {
				const gone = lines.shift();
				lost += shown ? 1 : 0;
				if (lines === main)
					this.leave(gone);
			}
			lines.forEach((line, y) => { lines[y] = this.fit(line); });
			lines.push(...this.blanks(rows - lines.length));
		}
		this.rows = rows;
		this.region();
		this.to(this.x, this.y - lost);
	}

	fit(line) {
		const more = Math.max(this.cols - line.chars.length, 0);
		return this.row([...line.chars.slice(0, this.cols), ...Array(more).fill(" ")],
			[...line.styles.slice(0, this.cols), ...Array(more).fill(PLAIN)]);
	}
}
