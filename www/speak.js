/*
 * speak.js: tells a screen reader what a terminal has written.
 *
 * A summary, politely and bounded: when output pauses, the last few lines and how
 * many there were.  A program that takes the whole screen is not read aloud.
 */
import { el } from "./dom.js";
import { withoutEscapes } from "./format.js";

const PAUSE_MS = 600;
const LINES_MAX = 5;
const CHARS_MAX = 400;
const HELD_MAX = 8000; /* characters that wait for a pause */

export function speaker() {
	const node = el("div", {
		class: "unseen", role: "log", "aria-live": "polite", "aria-atomic": "true",
		"aria-label": "New output of the terminal",
	});
	let held = "";
	let count = 0;
	let timer = null;

	function speak() {
		const lines = withoutEscapes(held).split("\n")
			.map((line) => line.replace(/^.*\r(?=.)/, "").trim())
			.filter((line) => line !== "");
		const said = lines.slice(-LINES_MAX).join("\n").slice(-CHARS_MAX);
		node.textContent = count > LINES_MAX ? `${count} lines. The last: ${said}` : said;
		held = "";
		count = 0;
	}

	return {
		node,
		/* Takes output; a line that is not complete waits for its end. */
		add(data, isFullScreen) {
			clearTimeout(timer);
			if (isFullScreen)
				return this.forget();
			held = (held + data).slice(-HELD_MAX);
			count += data.split("\n").length - 1;
			if (count > 0)
				timer = setTimeout(speak, PAUSE_MS);
			return undefined;
		},
		forget() {
			clearTimeout(timer);
			held = "";
			count = 0;
		},
	};
}
