/* command.js: running commands and watching their output. */
import * as api from "./api.js";
import { el, text } from "./dom.js";
import { duration, withoutEscapes } from "./format.js";

const OUTPUT_MAX = 400000; /* characters of one command that are kept */

/* One command with its output, growing. */
function run(command) {
	const output = el("pre", { tabindex: "0", "aria-label": `Output of ${command}` });
	const end = el("span", { class: "end", text: "running" });
	const started = Date.now();
	const node = el("div", { class: "run" },
		el("div", { class: "run-head" },
			el("code", { text: command }), end), output);
	let size = 0;
	return {
		node,
		add(kind, data) {
			const clean = withoutEscapes(data);
			output.append(el("span", { class: kind, text: clean }));
			size += clean.length;
			while (size > OUTPUT_MAX && output.childElementCount > 1) {
				size -= output.firstElementChild.textContent.length;
				output.firstElementChild.remove();
				output.dataset.cut = "true";
			}
		},
		end(word, good) {
			const seconds = (Date.now() - started) / 1000;
			end.textContent = `${word} \u00b7 ${seconds < 10 ? `${seconds.toFixed(1)} s` : duration(seconds)}`;
			node.dataset.over = "true";
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
		entry.end(`exit ${event.exitCode}`, event.exitCode === 0);
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
	const input = el("input", {
		id: "command", autocomplete: "off", autocapitalize: "off",
		spellcheck: "false", placeholder: "uname -a", class: "mono",
	});
	const submit = el("button", { class: "primary", text: "Run" });
	const detach = el("button", {
		type: "button", text: "Detach", disabled: true,
		title: "Stop watching; the command goes on",
		on: { click: () => controller?.abort() },
	});
	const runs = el("div", { class: "runs", role: "log", "aria-label": "Commands and their output" });
	const hint = el("p", { class: "empty" });

	async function start(command) {
		const entry = run(command);
		let over = false;
		controller = new AbortController();
		history.push(command);
		at = history.length;
		hint.hidden = true;
		detach.disabled = false;
		submit.setAttribute("aria-busy", "true");
		runs.append(entry.node);
		entry.node.scrollIntoView({ block: "nearest" });
		try {
			await api.runCommand(id, command, (event) => {
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
			detach.disabled = true;
			submit.removeAttribute("aria-busy");
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
	input, submit, detach);

	return {
		node: el("section", { class: "card terminal" },
			el("h2", { text: "Run a command" }), form, runs, hint),
		set(usable, asleep) {
			input.disabled = !usable;
			submit.disabled = !usable;
			text(hint, asleep ? "The session is asleep. A command wakes it up."
				: "Output appears here as it is written.");
		},
		stop: () => controller?.abort(),
	};
}
