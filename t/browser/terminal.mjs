/*
 * terminal.mjs: tests WebSockets, tickets and the dashboard's terminal, in a
 * real browser and against the real service.
 */
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { PATIENCE_MS, key, picture, url, walk } from "./walk.mjs";

const origin = new URL(url).origin;
const problems = []; /* errors of the dashboard's page */
let page; /* the dashboard's page */
let other; /* a page of another site on the same host, which gets the cookie, too */
let server;
let id;

/* ---- helpers */

function call(method, path, body) {
	return page.evaluate(async ([m, p, b]) => {
		const answer = await fetch(p, {
			method: m, headers: { "Content-Type": "application/json" },
			body: b && JSON.stringify(b),
		});
		return { status: answer.status, body: await answer.json().catch(() => null) };
	}, [method, path, body]);
}

async function makeTicket(body) {
	const made = await call("POST", `/v1/sessions/${id}/tickets`, body ?? {});
	assert.equal(made.status, 201);
	return made.body;
}

/*
 * Opens a WebSocket in a page, types, and reads until the command has answered.
 * Returns "answered", or the status of the refusal.
 */
async function talk(from, address) {
	const refusal = from.waitForEvent("console", {
		predicate: (message) => /^WebSocket .* failed: /s.test(message.text()),
		/*
		 * wait: against hanging; longer than the other limit, whose
		 * message says more
		 */
		timeout: 2 * PATIENCE_MS,
	}).then((message) => message.text().match(/code: (\d+)/)?.[1] ??
		(/Authentication failed/.test(message.text()) ? "401" : message.text()));
	const how = from.evaluate(([to, wait]) => new Promise((resolve) => {
		const socket = new WebSocket(to);
		const decoder = new TextDecoder();
		let seen = "";
		socket.binaryType = "arraybuffer";
		socket.onclose = ({ code, reason }) => { seen += `[closed ${code} ${reason}]`; };
		socket.onmessage = ({ data }) => {
			if (typeof data === "string") {
				seen += data;
				if (JSON.parse(data).type === "ready")
					socket.send(new TextEncoder().encode("echo $((6*7))answers\r"));
				return;
			}
			seen += decoder.decode(data, { stream: true });
			if (/42answers/.test(seen)) {
				resolve("answered");
				socket.close();
			}
		};
		/* wait: PATIENCE_MS */
		setTimeout(() => resolve(`no answer: ${seen}`), wait);
	}), [address, PATIENCE_MS]);
	refusal.catch(() => {});
	how.catch(() => {});
	return Promise.race([how, refusal]);
}

const button = (label) => page.getByRole("button", { name: label, exact: true });
const shown = (text) => page.locator(".tty").filter({ hasText: text }).waitFor();

async function type(text) {
	await page.keyboard.type(text);
	await page.keyboard.press("Enter");
}

const paste = (text) => page.evaluate((pasted) => {
	const data = new DataTransfer();
	data.setData("text/plain", pasted);
	document.activeElement.dispatchEvent(
		new ClipboardEvent("paste", { clipboardData: data, bubbles: true }));
}, text);

async function begin(browser) {
	const context = await browser.newContext({ viewport: { width: 1280, height: 1000 } });
	context.setDefaultTimeout(PATIENCE_MS);
	page = await context.newPage();
	other = await context.newPage();
	page.on("pageerror", (error) => problems.push(`page: ${error.stack}`));
	await page.exposeFunction("reportViolation", (v) => problems.push(`CSP: ${v}`));
	await page.addInitScript(() => document.addEventListener(
		"securitypolicyviolation",
		(e) => window.reportViolation(`${e.violatedDirective} ${e.blockedURI}`)));
	server = createServer((request, response) => {
		response.setHeader("Content-Type", "text/html");
		response.end("<title>somebody else</title>");
	});
	await new Promise((resolve) => server.listen(0, new URL(url).hostname, resolve));
	await other.goto(`http://${new URL(url).hostname}:${server.address().port}/`);
}

/* ---- screens: columns, rows, the bytes written, and the rows shown */

const SCREENS = [
	[5, 2, "hello", ["hello", ""]],
	[5, 2, "hello!", ["hello", "!"]],
	[5, 2, "a\r\nb\r\nc", ["b", "c"]],
	[5, 2, "ab\bc", ["ac", ""]],
	[20, 1, "a\tb", ["a       b"]],
	[5, 3, "\x1b[2;3Hx\x1b[Ay\x1b[1;1Hz", ["z  y", "  x", ""]],
	[5, 2, "hello\x1b[3G\x1b[K", ["he", ""]],
	[5, 2, "hello\x1b[3G\x1b[1K", ["   lo", ""]],
	[5, 3, "a\r\nb\r\nc\x1b[2;1H\x1b[J", ["a", "", ""]],
	[5, 3, "a\r\nb\r\nc\x1b[2;1H\x1b[1J", ["", "", "c"]],
	[5, 3, "a\r\nb\r\nc\x1b[2J", ["", "", ""]],
	[5, 3, "a\r\nb\r\nc\x1b[1;1H\x1b[L", ["", "a", "b"]],
	[5, 3, "a\r\nb\r\nc\x1b[1;1H\x1b[M", ["b", "c", ""]],
	[6, 1, "abcdef\x1b[2G\x1b[2P", ["adef"]],
	[6, 1, "abcdef\x1b[2G\x1b[2@", ["a  bcd"]],
	[6, 1, "abcdef\x1b[2G\x1b[3X", ["a   ef"]],
	[6, 1, "abc\x1b[2G\x1b[4hX\x1b[4l", ["aXbc"]],
	[5, 4, "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[3;1H\nx", ["1", "3", "x", "4"]],
	[5, 4, "1\r\n2\r\n3\r\n4\x1b[2;3r\x1b[2;1H\x1bMx", ["1", "x", "2", "4"]],
	[5, 2, "main\x1b[?1049h\x1b[Halt\x1b[?1049l!", ["main!", ""]],
	[5, 2, "\x1b7ab\x1b8c", ["cb", ""]],
	[5, 1, "\x1b(0lqk\x1b(Bx", ["\u250c\u2500\u2510x"]],
	[5, 1, "a\x1b[3b", ["aaaa"]],
	[6, 1, "\u65e5\u672c!", ["\u65e5\u672c!"]],
	[3, 2, "a\u65e5\u672c", ["a\u65e5", "\u672c"]],
	[5, 1, "e\u0301x", ["e\u0301x"]],
	[5, 1, "\u65e5\rx", ["x"]],
	[9, 1, "\x1b]0;title\x07a\x1b]2;t\x1b\\b\x1bPq;junk\x1b\\c", ["abc"]],
	[9, 1, "\x1b[38;5;200mA\x1b[38;2;1;2;3mB\x1b[4:3mC\x1b[38:2::1:2:3mD\x1b[0m", ["ABCD"]],
	[9, 1, "\x1b[?2026$p\x1b[>4;2m\x1b[=1u\x1b[1 qA\x1b#8B", ["AB"]],
	[9, 1, "\x1b[99999;99999HX", ["        X"]],
	[9, 1, "\x1b[\x18a\x1b[1\x1b[2Gb", ["ab"]],
	[9, 2, "abc\x1bcX", ["X", ""]],
	[4, 1, "\x1b[?7labcdef\x1b[?7h", ["abcf"]],
];

const show = ([cols, rows, data], pieces) => page.evaluate(async ([c, r, d, p]) => {
	const [{ Screen }, { Terminal }] = await Promise.all([import("/screen.js"), import("/vt.js")]);
	const screen = new Screen(c, r);
	const terminal = new Terminal(screen);
	for (const piece of p ? d : [d])
		terminal.write(piece);
	return screen.lines.map((line) => line.chars.join("").trimEnd());
}, [cols, rows, data, pieces]);

const STEPS = {
	async "the dashboard is open, with a session"() {
		await page.goto(url);
		await page.getByLabel("API key").fill(key);
		await button("Log in").click();
		await page.getByRole("heading", { name: "Sessions" }).waitFor();
		const made = await call("POST", "/v1/sessions", { isolation: "session" });
		assert.equal(made.status, 201);
		id = made.body.id;
	},

	async "its page gets a ticket and talks to a shell with it, once"() {
		const made = await makeTicket();
		assert.equal(await talk(page, made.url), "answered");
		assert.equal(await talk(page, made.url), "401");
	},

	async "somebody else's page cannot ride on the login"() {
		const { terminal } = (await call("GET", `/v1/sessions/${id}`)).body.urls;
		assert.equal(await talk(other, terminal), "403");
		assert.equal(await talk(page, terminal), "answered");
	},

	async "but use a ticket that it was given"() {
		const made = await makeTicket();
		assert.equal(await talk(other, made.url), "answered");
		assert.equal(await talk(other, made.url), "401");
	},

	async "a screen shows what is written to it, in pieces too"() {
		for (const one of SCREENS)
			for (const pieces of [false, true])
				assert.deepEqual(await show(one, pieces), one[3], JSON.stringify(one));
	},

	async "the dashboard's terminal opens and answers"() {
		await page.goto(`${origin}/#/sessions/${id}`);
		await page.locator('main[data-state="ready"]').waitFor();
		assert.equal(await page.getByLabel("Terminal", { exact: true }).isDisabled(), true,
			"a stop of the Tab key that nobody sees");
		await button("Open").click();
		await page.locator(".tty[data-ready]").waitFor();
		await type("clear; echo $((9*9))answers");
		await shown("81answers");
		await type("for i in 1 2 3 4 5 6 7; do printf \"\\033[3${i}mcolor$i\\033[0;4${i};30m back \\033[0m \"; done; echo");
		await page.locator(".tty .fore-1", { hasText: "color1" }).waitFor();
		await page.locator(".tty .back-7", { hasText: "back" }).waitFor();
		await type("printf '\\033[1;38;5;208mbold\\033[0m \\033[7minverse\\033[0m \\u65e5\\u672c|\\n'; ls --color=always -la /");
		await page.locator('.tty .bold[style*="255, 135, 0"]', { hasText: "bold" }).waitFor();
		await picture(page, "terminal");
	},

	async "the shell knows its size, and hears of another one"() {
		const size = async (when) => {
			const answer = new RegExp(`${when}=(\\d+) (\\d+)=`);
			await type(`clear; echo ${when}=$(stty size)=`);
			await shown(answer);
			return (await page.locator(".tty").textContent()).match(answer)
				.slice(1).map(Number);
		};
		const [rows, cols] = await size("wide");
		assert.ok(rows > 10 && cols > 60, `${rows} ${cols}`);
		await page.setViewportSize({ width: 700, height: 1000 });
		await page.waitForFunction((n) => {
			const row = document.querySelector(".tty > div:last-child > div");
			return row.textContent.length < n;
		}, cols);
		assert.ok((await size("narrow"))[1] < cols);
		await page.setViewportSize({ width: 1280, height: 1000 });
	},

	async "an editor can be used in it"() {
		await type("cd /workspace && vi -u NONE note");
		await page.locator(".tty > div:last-child > div", { hasText: /^~\s*$/ }).first().waitFor();
		await page.keyboard.type("ihello there");
		await page.keyboard.press("Enter");
		await page.keyboard.type("<b>you</b>");
		await page.keyboard.press("Escape");
		await page.keyboard.press("ArrowUp");
		await page.keyboard.type("Iwell, ");
		await page.keyboard.press("Escape");
		await picture(page, "terminal-editor");
		await type(":wq");
		await page.locator(".tty > div:last-child > div", { hasText: /^~\s*$/ })
			.first().waitFor({ state: "detached" });
		await type("clear; cat note; echo over");
		await shown("well, hello there");
		await shown("<b>you</b>");
		assert.equal(await page.locator(".tty b").count(), 0);
	},

	async "what runs is interrupted, and a paste is typed"() {
		await type("clear; echo runs$((1+1)); sleep 1000");
		await shown("runs2"); /* Control+C discards bytes that were typed before */
		await page.keyboard.press("Control+c");
		await type("echo after=$?=");
		await shown("after=130=");
		await paste("clear; echo one$((1+1))\necho two$((2+2))\n");
		await page.keyboard.press("Enter");
		await shown("one2");
		await shown("two4");
	},

	async "it is left by the keyboard, and found again as it was"() {
		await type("clear; echo still $((5*5))");
		await shown("still 25");
		await page.keyboard.press("Shift+Escape");
		assert.equal(await page.evaluate(() => document.activeElement.textContent), "Close");
		await page.keyboard.press("Enter");
		await button("Open again").click();
		await page.locator(".tty[data-ready]").waitFor();
		await shown("still 25");
	},

	async "a shell that ends is told, and another one begins"() {
		await type("exit 3");
		await page.getByText("The shell has ended (exit 3).").waitFor();
		await button("Open again").click();
		await page.locator(".tty[data-ready]").waitFor();
		await type("echo new $((8*8))");
		await shown("new 64");
	},

	async "who leaves while it opens has opened nothing"() {
		const opened = [];
		let go;
		const left = new Promise((resolve) => { go = resolve; });
		await page.goto(`${origin}/#/sessions`);
		await page.getByRole("heading", { name: "Sessions" }).waitFor();
		await page.goto(`${origin}/#/sessions/${id}`);
		await page.locator('main[data-state="ready"]').waitFor();
		page.on("websocket", (socket) => opened.push(socket.url()));
		await page.route("**/tickets", (route) => left.then(() => route.continue()));
		const asked = page.waitForRequest("**/tickets");
		const answered = page.waitForResponse("**/tickets");
		await button("Open").click();
		await asked;
		await page.goto(`${origin}/#/sessions`);
		await page.getByRole("heading", { name: "Sessions" }).waitFor();
		go();
		await (await answered).finished();
		await call("GET", "/v1/me"); /* the earlier answer has taken effect by now */
		assert.deepEqual(opened, []);
	},

	async "no policy was violated, no error reported"() {
		assert.deepEqual(problems, []);
	},
};

await walk(STEPS, {
	begin,
	async failing() {
		await picture(page, "terminal-failed").catch(() => {});
		return problems;
	},
	async end() {
		server?.close();
		if (id)
			await call("DELETE", `/v1/sessions/${id}`).catch(() => {});
	},
});
