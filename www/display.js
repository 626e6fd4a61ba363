/*
 * display.js: shows a Screen in a node, with the rows that have left it above.
 *
 * It also tells how many cells fit, which cell a pointer is over, and the text
 * of a selection.
 */
import { drawRow } from "./cells.js";
import { el } from "./dom.js";

const HISTORY_MAX = 2000; /* rows that are kept above the screen */

/* The screen and the rows that have left it, drawn at most once a frame. */
export function display(view) {
	const past = el("div");
	const shown = el("div");
	let left = [];
	let due = false;
	let before = -1;
	view.append(past, shown);

	function draw(screen) {
		const bottom = view.scrollTop + view.clientHeight >= view.scrollHeight - 8;
		for (const row of left) {
			const node = el("div");
			drawRow(node, row, -1);
			node.row = row;
			past.append(node);
		}
		left = [];
		while (past.childElementCount > HISTORY_MAX)
			past.firstElementChild.remove();
		while (shown.childElementCount < screen.rows)
			shown.append(el("div"));
		while (shown.childElementCount > screen.rows)
			shown.lastElementChild.remove();
		screen.lines.forEach((row, y) => {
			const node = shown.children[y];
			if (!row.dirty && node.row === row && y !== screen.y && y !== before)
				return;
			drawRow(node, row, y === screen.y && screen.modes.cursor ? screen.x : -1);
			node.row = row;
			row.dirty = false;
		});
		before = screen.y;
		if (bottom)
			view.scrollTop = view.scrollHeight;
	}

	return {
		leave(row) {
			left.push(row);
			if (left.length > 2 * HISTORY_MAX)
				left = left.slice(-HISTORY_MAX);
		},
		clear() {
			left = [];
			past.replaceChildren();
		},
		refresh(screen) {
			if (due)
				return;
			due = true;
			requestAnimationFrame(() => {
				due = false;
				draw(screen);
			});
		},
		/* The cell under a pointer, counted from 1, within the screen. */
		cellAt({ clientX, clientY }, screen) {
			const box = shown.getBoundingClientRect();
			const [width, height] = cellSize(view);
			const within = (n, most) => Math.min(Math.max(Math.floor(n) + 1, 1), most);
			return {
				x: within((clientX - box.left) / width, screen.cols),
				y: within((clientY - box.top) / height, screen.rows),
			};
		},
	};
}

function cellSize(view) {
	const probe = el("span", { text: "0".repeat(100) });
	view.append(probe);
	const { width } = probe.getBoundingClientRect();
	probe.remove();
	return [width / 100, parseFloat(getComputedStyle(view).lineHeight)];
}

/* How many cells there is room for. */
export function measure(view) {
	const [width, height] = cellSize(view);
	const style = getComputedStyle(view);
	const room = (size, a, b) => size - parseFloat(style[a]) - parseFloat(style[b]);
	const cols = room(view.clientWidth, "paddingLeft", "paddingRight") / width;
	const rows = room(view.clientHeight, "paddingTop", "paddingBottom") / height;
	return [cols, rows].map((n) => Math.max(Math.floor(n) || 0, 2));
}

/* Is something in the terminal selected? */
export function hasSelection(view) {
	const selection = getSelection();
	return !selection.isCollapsed && view.contains(selection.anchorNode);
}

/*
 * The selected text as programs wrote it: no blanks at the end of a line, and a
 * line that was wrapped at the edge of the screen is one line.
 */
export function selectedText(view) {
	const range = getSelection().getRangeAt(0);
	let whole = "";
	for (const node of view.querySelectorAll(":scope > div > div")) {
		if (!range.intersectsNode(node))
			continue;
		const part = document.createRange();
		part.selectNodeContents(node);
		if (node.contains(range.startContainer))
			part.setStart(range.startContainer, range.startOffset);
		if (node.contains(range.endContainer))
			part.setEnd(range.endContainer, range.endOffset);
		whole += node.row?.wrapped ? part.toString() : `${part.toString().trimEnd()}\n`;
	}
	return whole.replace(/\n$/, "");
}
