/*
 * terminal.js: a session's terminal.
 *
 * Opened with a ticket, which the login makes.  The shell goes on without the
 * page, and the service sends its last output again to a page that comes back:
 * so a connection that was lost is simply made anew.
 */
import * as api from "./api.js";
import { display, hasSelection, measure, selectedText } from "./display.js";
import { actionButton, el, text } from "./dom.js";
import { keyBytes, pasteBytes } from "./keys.js";
import { watchPointer } from "./pointer.js";
import { Screen } from "./screen.js";
import { openSocket } from "./socket.js";
import { speaker } from "./speak.js";
import { Terminal } from "./vt.js";

const RETRY_MS = [300, 1000, 2000, 4000]; /* then always the last */
const FIT_MS = 100; /* a window that is being dragged has many sizes on the way */
const SCROLL_KEYS = { PageUp: -1, PageDown: 1 }; /* with Shift */
const RUNS = ["ready", "initializing"]; /* states in which a retry wakes nothing */
const HELP = "Tab goes to the shell; Shift and Escape leave the terminal. Shift and Page Up scroll. A right click pastes.";

/* Typing, pasting, selecting and copying in the view and its input. */
function watchKeyboard({ view, input, modes, isOpen, send, leave, say }) {
	const type = (data) => {
		send(data);
		view.scrollTop = view.scrollHeight;
	};
	const flush = () => {
		type(input.value);
		input.value = "";
	};
	const paste = (pasted) => isOpen() && type(pasteBytes(pasted, modes()));

	view.addEventListener("keydown", (event) => {
		if (event.key === "Escape" && event.shiftKey)
			return leave();
		if (!isOpen())
			return undefined;
		if (event.shiftKey && !event.ctrlKey && !event.altKey &&
			Object.hasOwn(SCROLL_KEYS, event.key)) {
			view.scrollTop += SCROLL_KEYS[event.key] * view.clientHeight * 0.9;
			return event.preventDefault();
		}
		if (event.ctrlKey && event.key === "c" && hasSelection(view))
			return undefined; /* the browser copies; see below */
		const bytes = keyBytes(event, modes());
		/* After a selection the focus is on the view: what is typed is for the shell. */
		if (bytes !== undefined || (event.key.length === 1 && !event.ctrlKey && !event.metaKey))
			input.focus({ preventScroll: true });
		if (bytes !== undefined) {
			event.preventDefault();
			type(bytes);
		}
		return undefined;
	});
	input.addEventListener("input", (event) => event.isComposing || flush());
	input.addEventListener("compositionend", flush);
	view.addEventListener("paste", (event) => {
		event.preventDefault();
		paste(event.clipboardData.getData("text"));
	});
	view.addEventListener("copy", (event) => {
		if (!hasSelection(view))
			return;
		event.preventDefault();
		event.clipboardData.setData("text/plain", selectedText(view));
		getSelection().removeAllRanges();
		input.focus({ preventScroll: true });
	});
	view.addEventListener("mouseup", () =>
		hasSelection(view) || input.focus({ preventScroll: true }));
	view.addEventListener("contextmenu", async (event) => {
		if (!isOpen() || modes().mouse || event.shiftKey || hasSelection(view) ||
			!navigator.clipboard?.readText)
			return; /* the browser's menu, or the program has had the click */
		event.preventDefault();
		try {
			paste(await navigator.clipboard.readText());
		} catch {
			say("The browser does not let this page read the clipboard; paste with the keyboard.");
		}
		input.focus({ preventScroll: true });
	});
}

export function terminalCard(id, { fail }) {
	const input = el("textarea", {
		class: "unseen", rows: "1", "aria-label": "Terminal", autocomplete: "off",
		autocapitalize: "off", autocorrect: "off", spellcheck: "false", disabled: true,
	});
	/* the view takes the focus of a selection, but is no stop of the Tab key */
	const view = el("div", { class: "tty cells", hidden: true, tabindex: "-1" }, input);
	const box = el("div", { class: "tty-box" }, view);
	const status = el("p", { class: "help", role: "status" });
	const title = el("span", { class: "tty-title" });
	const speech = speaker();
	const open = actionButton("Open", { class: "primary" }, connect, fail);
	const close = el("button", {
		type: "button", text: "Close", hidden: true,
		title: "Close this view; the shell goes on", on: { click: disconnect },
	});
	let socket = null;
	let wanted = false; /* opened, and neither closed nor ended */
	let stopped = false;
	let usable = false;
	let tries = 0;
	let timer = null;
	let settling = null;
	let screen = null;
	let picture = null;

	function begin(cols, rows) {
		while (view.lastElementChild !== input) /* which keeps the focus */
			view.lastElementChild.remove();
		picture = display(view);
		screen = new Screen(cols, rows, picture.leave);
		return new Terminal(screen, {
			/* questions in the past were answered then */
			reply: (data) => view.dataset.ready && socket?.send(data),
			clear: () => picture.clear(),
			title: (name) => text(title, name.slice(0, 100)),
		});
	}

	function setButtons() {
		open.hidden = wanted || !usable;
		close.hidden = !wanted;
		input.disabled = !wanted;
	}

	async function connect() {
		const made = await api.makeTicket(id);
		if (stopped)
			return;
		wanted = true;
		view.hidden = false;
		const size = measure(view);
		const terminal = begin(...size);
		delete view.dataset.ready;
		setButtons();
		text(status, "Connecting\u2026");
		const mine = openSocket(made, size, {
			output(data) {
				terminal.write(data);
				picture.refresh(screen);
				if (view.dataset.ready)
					speech.add(data, screen.other !== null);
			},
			ready() {
				view.dataset.ready = "true";
				text(status, HELP);
				fit();
				if (tries === 0)
					input.focus({ preventScroll: true });
				tries = 0;
			},
			over(why) {
				if (socket !== mine)
					return; /* closed by the page, which may have opened another */
				socket = null;
				delete view.dataset.ready;
				if (why !== null)
					end(why);
				else
					later();
			},
		});
		socket = mine;
	}

	/* ---- a connection that was lost */

	function later() {
		text(status, "The connection is lost. Trying again\u2026");
		timer = setTimeout(again, RETRY_MS[Math.min(tries++, RETRY_MS.length - 1)]);
	}

	async function again() {
		try {
			const { state } = await api.getSession(id);
			if (!wanted)
				return;
			if (RUNS.includes(state))
				await connect();
			else /* opening it would wake a session that was put to sleep */
				end(`The connection has ended: the session is ${state}.`);
		} catch (error) {
			if (!wanted)
				return;
			if (error.status === 0 || error.status >= 500)
				later();
			else
				end(`The connection is lost. ${error.message}`);
		}
	}

	function end(why) {
		const focused = document.activeElement === input;
		clearTimeout(timer);
		wanted = false;
		tries = 0;
		socket?.close();
		socket = null;
		delete view.dataset.ready;
		speech.forget();
		text(open, "Open again");
		text(status, why);
		setButtons();
		if (focused)
			open.focus({ preventScroll: true });
	}

	function disconnect() {
		end("Closed. The shell goes on.");
		open.focus({ preventScroll: true });
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

	watchKeyboard({
		view, input, modes: () => screen.modes, isOpen: () => socket !== null,
		send: (data) => socket?.send(data), leave: () => close.focus(),
		say: (words) => text(status, words),
	});
	const endPointer = watchPointer(view,
		() => (socket === null ? null : { screen, picture }), (data) => socket?.send(data));
	const size = new ResizeObserver(() => {
		clearTimeout(settling);
		settling = setTimeout(fit, FIT_MS);
	});
	size.observe(view);

	return {
		node: el("section", { class: "card" },
			el("div", { class: "tty-head" },
				el("h2", { text: "Terminal" }), title, open, close),
			box, speech.node, status),
		set(isUsable, asleep) {
			usable = isUsable;
			setButtons();
			if (!wanted && view.hidden)
				text(status, asleep ? "The session is asleep. Opening its terminal wakes it up."
					: "A shell in the session, shared by all who open it.");
		},
		stop() {
			stopped = true;
			wanted = false;
			clearTimeout(timer);
			clearTimeout(settling);
			size.disconnect();
			endPointer();
			speech.forget();
			socket?.close();
			socket = null;
		},
	};
}
