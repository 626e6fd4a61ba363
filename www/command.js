/* command.js: running commands and watching their output. */
import * as api from "./api.js";
import { actionButton, el, text } from "./dom.js";
import { duration } from "./format.js";
import { outputView } from "./output.js";

/* The shell beside which commands of this page run. */
const SHELL = "dashboard";

/* One command with its output, growing. */
function run(command) {
	const output = el("pre", {
		class: "output cells", tabindex: "0", "aria-label": `Output of ${command}`,
	});
	const view = outputView(output);
	const end = el("span", { class: "end", text: "running" });
	const started = Date.now();
	const node = el("div", { class: "run" },
		el("div", { class: "run-head" },
			el("code", { text: command }), end), output);
	return {
		node,
		add: view.add,
		end(word, good) {
			const seconds = (Date.now() - started) / 1000;
			end.textContent = `${word} \u00b7 ${seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds)}`;
			node.dataset.over = output.textContent === "" ? "empty" : "true";
			end.classList.add(good ? "good" : "bad");
		},
	};
}

function handle(entry, event) {
	switch (event.type) {
	case "stdout":
	case "stderr":
		entry.add(event.type, event.data ?? "");
		return false;
	case "complete":
		entry.end(event.interrupted ? "stopped" : `exit ${event.exitCode}`,
			event.exitCode === 0);
		return true;
	case "error":
		entry.add("stderr", `${event.error ?? event.data ?? "failed"}\n`);
		entry.end("failed", false);
		return true;
	default:
		return false;
	}
}

export function commandCard(id, { fail, done }) {
	const history = [];
	let at = 0;
	let controller = null;
	let executionId = null; /* Stop ends this command and no other */
	const input = el("input", {
		id: "command", autocomplete: "off", autocapitalize: "off",
		spellcheck: "false", placeholder: "uname -a", class: "mono",
	});
	const submit = el("button", { class: "primary", text: "Run" });
	const stop = actionButton("Stop", {
		class: "danger", hidden: true, title: "End the command and all it has started",
	}, () => api.cancelCommand(id, executionId), fail);
	const detach = el("button", {
		type: "button", text: "Detach", hidden: true,
		title: "Stop watching; the command goes on",
		on: { click: () => controller?.abort() },
	});
	const runs = el("div", { class: "runs", role: "log", "aria-label": "Commands and their output" });
	const hint = el("p", { class: "empty" });

	function setRunning(running) {
		if (!running && [stop, detach].includes(document.activeElement))
			input.focus(); /* the button with the focus is about to go */
		submit.hidden = running;
		stop.hidden = !running;
		detach.hidden = !running;
	}

	async function start(command) {
		const entry = run(command);
		let over = false;
		controller = new AbortController();
		executionId = api.newKey();
		history.push(command);
		at = history.length;
		hint.hidden = true;
		setRunning(true);
		runs.append(entry.node);
		entry.node.scrollIntoView({ block: "nearest" });
		try {
			await api.runCommand(id, { command, sessionId: SHELL, executionId }, (event) => {
				const bottom = runs.scrollTop + runs.clientHeight >= runs.scrollHeight - 8;
				over = handle(entry, event) || over;
				if (bottom)
					runs.scrollTop = runs.scrollHeight;
			}, controller.signal);
			if (!over)
				entry.end("the stream ended early", false);
		} catch (error) {
			const left = error.name === "AbortError";
			entry.end(left ? "detached" : "failed", false);
			if (!left)
				fail(error);
		} finally {
			controller = null;
			setRunning(false);
			runs.scrollTop = runs.scrollHeight;
			done();
		}
	}

	function recall(step) {
		at = Math.min(Math.max(at + step, 0), history.length);
		input.value = history[at] ?? "";
	}

	input.addEventListener("keydown", (event) => {
		if (event.key !== "ArrowUp" && event.key !== "ArrowDown")
			return;
		event.preventDefault();
		recall(event.key === "ArrowUp" ? -1 : 1);
	});
	const form = el("form", {
		class: "command",
		on: {
			submit: (event) => {
				event.preventDefault();
				const command = input.value.trim();
				if (command === "" || controller !== null)
					return;
				input.value = "";
				start(command);
			},
		},
	}, el("label", { for: "command", class: "unseen", text: "Command" }),
	input, submit, stop, detach);

	return {
		node: el("section", { class: "card terminal" },
			el("h2", { text: "Run a command" }), form, runs, hint),
		set(asleep) {
			text(hint, asleep ? "The session is asleep. A command wakes it up."
				: "Output appears here as it is written.");
		},
		stop: () => controller?.abort(),
	};
}
