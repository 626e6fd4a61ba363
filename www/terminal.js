/*
 * terminal.js: a session's terminal.
 *
 * Opened with a ticket, which the login makes; the shell goes on without us
 * and shows what it has when we come back.
 */
import * as api from "./api.js";
import { actionButton, el, text } from "./dom.js";
import { keyBytes, pasteBytes } from "./keys.js";
import { Screen } from "./screen.js";
import { Terminal } from "./vt.js";

const HISTORY_MAX = 2000; /* rows that are kept above the screen */
const PIECE_MAX = 16384; /* bytes of a message; a paste may be long */
const FLAGS = ["bold", "dim", "italic", "underline", "strike", "hidden"];

/* ---- drawing */

/* The first sixteen are the style sheet's; the others are computed. */
function colorOf(color) {
	if (typeof color === "object")
		return `rgb(${color.r}, ${color.g}, ${color.b})`;
	if (color >= 232)
		return `rgb(${Array(3).fill(8 + (color - 232) * 10).join(", ")})`;
	const part = (n) => (n === 0 ? 0 : 55 + 40 * n);
	const n = color - 16;
	return `rgb(${part(Math.floor(n / 36))}, ${part(Math.floor(n / 6) % 6)}, ${part(n % 6)})`;
}

function paint(span, what, color) {
	if (color === undefined)
		return;
	if (typeof color === "number" && color < 16)
		span.classList.add(`${what}-${color}`);
	else
		span.style[what === "fore" ? "color" : "backgroundColor"] = colorOf(color);
}

function spanOf(chars, style, extra) {
	const span = el("span", { text: chars });
	for (const flag of FLAGS)
		if (style[flag])
			span.classList.add(flag);
	const bright = style.bold && style.fore < 8 ? style.fore + 8 : style.fore;
	paint(span, "fore", style.inverse ? style.back : bright);
	paint(span, "back", style.inverse ? bright : style.back);
	if (style.inverse)
		span.classList.add("inverse");
	span.classList.add(...extra);
	return span;
}

/* One span for each run of cells that look alike; wide ones are apart. */
function drawRow(node, row, cursor) {
	const spans = [];
	let from = 0;
	const flush = (to, ...extra) => {
		if (to > from)
			spans.push(spanOf(row.chars.slice(from, to).join(""), row.styles[from], extra));
		from = to;
	};
	for (let x = 0; x < row.chars.length; x++) {
		const wide = row.chars[x + 1] === "";
		if (row.styles[x] !== row.styles[from] || x === cursor || wide)
			flush(x);
		if (x === cursor || wide) {
			flush(x + (wide ? 2 : 1), ...(wide ? ["wide"] : []),
				...(x === cursor ? ["cursor"] : []));
			x = from - 1;
		}
	}
	flush(row.chars.length);
	node.replaceChildren(...spans);
}

/* The screen and what has left it, drawn at most once a frame. */
function display(view) {
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
	};
}

/* How many cells there is room for. */
function measure(view) {
	const probe = el("span", { text: "0".repeat(100) });
	view.append(probe);
	const box = probe.getBoundingClientRect();
	probe.remove();
	const style = getComputedStyle(view);
	const room = (size, a, b) => size - parseFloat(style[a]) - parseFloat(style[b]);
	const cols = room(view.clientWidth, "paddingLeft", "paddingRight") / (box.width / 100);
	const rows = room(view.clientHeight, "paddingTop", "paddingBottom") /
		parseFloat(style.lineHeight);
	return [cols, rows].map((n) => Math.max(Math.floor(n) || 0, 2));
}

/* ---- talking */

/* Where this page is from, whatever name the service has for itself. */
function socketUrl(made, cols, rows) {
	const url = new URL(made.url);
	url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
	url.host = location.host;
	url.searchParams.set("cols", cols);
	url.searchParams.set("rows", rows);
	return url;
}

function openSocket(url, { output, say, over }) {
	const socket = new WebSocket(url);
	const decoder = new TextDecoder();
	let end = null;
	socket.binaryType = "arraybuffer";
	socket.addEventListener("message", ({ data }) => {
		if (typeof data !== "string") {
			output(decoder.decode(data, { stream: true }));
			return;
		}
		const message = JSON.parse(data);
		if (message.type === "exit")
			end = `The shell has ended (${message.signal ?? `exit ${message.code}`}).`;
		else if (message.type === "error")
			end = message.message;
		else
			say(message.type);
	});
	socket.addEventListener("close", () => over(end ?? "The connection has ended."));
	return {
		send(typed) {
			const bytes = new TextEncoder().encode(typed);
			for (let at = 0; at < bytes.length && socket.readyState === 1; at += PIECE_MAX)
				socket.send(bytes.subarray(at, at + PIECE_MAX));
		},
		tell: (message) => socket.readyState === 1 && socket.send(JSON.stringify(message)),
		close: () => socket.close(),
	};
}

/* ---- the card */

export function terminalCard(id, { fail }) {
	const view = el("div", { class: "tty", hidden: true });
	const input = el("textarea", {
		class: "unseen", rows: "1", "aria-label": "Terminal", autocomplete: "off",
		autocapitalize: "off", autocorrect: "off", spellcheck: "false",
	});
	const status = el("p", { class: "help", role: "status" });
	const title = el("span", { class: "tty-title" });
	const open = actionButton("Open", { class: "primary" }, connect, fail);
	const close = el("button", {
		type: "button", text: "Close", disabled: true,
		title: "Stop showing it; the shell goes on",
		on: { click: () => socket?.close() },
	});
	let socket = null;
	let stopped = false;
	let screen = null;
	let picture = null;

	function begin(cols, rows) {
		view.replaceChildren();
		picture = display(view);
		screen = new Screen(cols, rows, picture.leave);
		return new Terminal(screen, {
			/* what was asked before we came was answered then */
			reply: (data) => view.dataset.ready && socket?.send(data),
			clear: () => picture.clear(),
			title: (name) => text(title, name.slice(0, 100)),
		});
	}

	async function connect() {
		const made = await api.makeTicket(id);
		if (stopped)
			return;
		view.hidden = false;
		const [cols, rows] = measure(view);
		const terminal = begin(cols, rows);
		delete view.dataset.ready;
		open.disabled = true;
		close.disabled = false;
		text(status, "Connecting\u2026");
		socket = openSocket(socketUrl(made, cols, rows), {
			output(data) {
				terminal.write(data);
				picture.refresh(screen);
			},
			say(type) {
				if (type !== "ready")
					return;
				view.dataset.ready = "true";
				text(status, "Tab goes to the shell; Shift and Escape leave the terminal.");
				fit();
				input.focus({ preventScroll: true });
			},
			over(why) {
				socket = null;
				delete view.dataset.ready;
				open.disabled = false;
				close.disabled = true;
				text(open, "Open again");
				text(status, why);
			},
		});
	}

	function fit() {
		if (socket === null || view.clientWidth === 0)
			return; /* a page that is not shown has no size */
		const [cols, rows] = measure(view);
		if (cols === screen.cols && rows === screen.rows)
			return;
		screen.resize(cols, rows);
		picture.refresh(screen);
		socket.tell({ type: "resize", cols, rows });
	}

	function type(data) {
		socket?.send(data);
		view.scrollTop = view.scrollHeight;
	}

	const selected = () => !getSelection().isCollapsed && view.contains(getSelection().anchorNode);

	input.addEventListener("keydown", (event) => {
		if (event.key === "Escape" && event.shiftKey)
			return close.focus();
		if (socket === null)
			return undefined;
		if (event.ctrlKey && event.key === "c" && selected()) {
			navigator.clipboard?.writeText(String(getSelection()));
			getSelection().removeAllRanges();
			return event.preventDefault();
		}
		const bytes = keyBytes(event, screen.modes);
		if (bytes !== undefined) {
			event.preventDefault();
			type(bytes);
		}
		return undefined;
	});
	input.addEventListener("input", (event) => {
		if (event.isComposing)
			return;
		type(input.value);
		input.value = "";
	});
	input.addEventListener("compositionend", () => {
		type(input.value);
		input.value = "";
	});
	input.addEventListener("paste", (event) => {
		event.preventDefault();
		if (socket !== null)
			type(pasteBytes(event.clipboardData.getData("text"), screen.modes));
	});
	view.addEventListener("mouseup", () => selected() || input.focus({ preventScroll: true }));
	const size = new ResizeObserver(fit);
	size.observe(view);

	return {
		node: el("section", { class: "card" },
			el("div", { class: "tty-head" },
				el("h2", { text: "Terminal" }), title, open, close),
			el("div", { class: "tty-box" }, view, input), status),
		set(usable, asleep) {
			open.disabled = !usable || socket !== null;
			if (socket === null && view.hidden)
				text(status, asleep ? "The session is asleep. Opening its terminal wakes it up."
					: "A shell in the session, shared by all who open it.");
		},
		stop() {
			stopped = true;
			size.disconnect();
			socket?.close();
		},
	};
}
