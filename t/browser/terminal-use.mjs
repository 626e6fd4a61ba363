/*
 * terminal-use.mjs: tests the dashboard's terminal as people use it: in windows
 * that change, with wheel, mouse, clipboard and screen reader, over a
 * connection that is lost.  In a real browser and against the real service.
 */
import assert from "node:assert/strict";
import { key, picture, walk } from "./walk.mjs";
import { accessible, call, fits, logIn, openPage, openSession, stack } from "./person.mjs";

const problems = [];
let page;
let id;

const button = (label) => page.getByRole("button", { name: label, exact: true });
const shown = (text) => page.locator(".tty").filter({ hasText: text }).waitFor();
const view = () => page.locator(".tty");
const ready = () => page.locator(".tty[data-ready]").waitFor();
const rows = () => page.locator(".tty > div:last-child > div");
const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
const bytes = (text) => Array.from(text, (c) => `${c.charCodeAt(0)},`).join("");
const focused = () => page.evaluate(() => document.activeElement.getAttribute("aria-label"));

async function type(text) {
	await page.keyboard.type(text);
	await page.keyboard.press("Enter");
}

async function sttyColumns(mark) {
	const answer = new RegExp(`${mark}=\\d+ (\\d+)=`);
	await type(`clear; echo ${mark}=$(stty size)=`);
	await shown(answer);
	return Number((await view().textContent()).match(answer)[1]);
}

/* Selects from the row that has `first` to the end of the one that has `last`. */
async function select(first, last) {
	const from = await rows().filter({ hasText: first }).last().boundingBox();
	const to = await rows().filter({ hasText: last }).last().boundingBox();
	await page.mouse.move(from.x + 1, from.y + from.height / 2);
	await page.mouse.down();
	await page.mouse.move(to.x + to.width - 2, to.y + to.height / 2, { steps: 5 });
	await page.mouse.up();
}

/* Starts a program that prints the number of each byte it gets; `set` are its modes. */
async function showBytes(set) {
	await type(`clear; printf '${set}'; echo go$((1+1)); ` +
		"while IFS= read -rsN1 c && [ \"$c\" != q ]; do printf '%d,' \"'$c\"; done; " +
		"printf '\\033[?1000l\\033[?1006l\\033[?1049l'; echo; echo over$((2+2))");
	await shown("go2");
}

const STEPS = {
	async "a session is ready"() {
		await logIn(page, key);
		const made = await call(page, "POST", "/v1/sessions", { isolation: "session" });
		assert.equal(made.status, 201);
		id = made.body.id;
		await openSession(page, id);
	},

	async "a terminal that is closed has no stop of the Tab key"() {
		assert.equal(await page.getByLabel("Terminal", { exact: true }).isDisabled(), true);
		await button("Open").click();
		await ready();
		assert.equal(await focused(), "Terminal");
	},

	async "it fits into a window that gets narrower and wide again"() {
		const columns = {};
		for (const width of [1440, 1200, 900, 390, 1440]) {
			await page.setViewportSize({ width, height: 1000 });
			/*
			 * rows fill the width of the window; the shell got its
			 * size before that
			 */
			const cols = await page.waitForFunction(() => {
				const tty = document.querySelector(".tty");
				const row = tty.querySelector(":scope > div:last-child > div");
				const range = document.createRange();
				range.selectNodeContents(row);
				const room = tty.clientWidth - range.getBoundingClientRect().width;
				const length = row.textContent.length;
				return room >= 0 && room < 40 && tty.getBoundingClientRect().right <= innerWidth &&
					length;
			});
			await fits(page, `${width} px`);
			const now = await sttyColumns(`at${width}`);
			assert.equal(now, await cols.jsonValue());
			columns[width] ??= now;
			assert.equal(now, columns[width]);
			await picture(page, `terminal-${width}`);
		}
		assert.ok(columns[390] < columns[900]);
		await button("Close").click(); /* the button is not covered */
		await button("Open again").click();
		await ready();
	},

	async "Shift and Page Up scroll, and type nothing"() {
		await type("clear; seq 1000; echo end$((1+1))");
		await shown("end2");
		const at = () => view().evaluate((node) => node.scrollTop);
		const bottom = await at();
		await page.keyboard.press("Shift+PageUp");
		assert.ok(await at() < bottom - 100);
		await page.keyboard.press("Shift+PageDown");
		assert.equal(await at(), bottom);
		await type("clear; echo typed:$((3*3))");
		await shown("typed:9");
		assert.doesNotMatch(await view().textContent(), /2~/);
	},

	async "copied lines end where they end, wrapped ones are one, and typing goes on"() {
		const long = "x".repeat(300);
		await type(`clear; printf 'first  \\n%s\\nlast\\n' $(printf 'x%.0s' $(seq 300))`);
		await rows().filter({ hasText: /^last\s*$/ }).waitFor();
		await select(/^first\s*$/, /^last\s*$/);
		await page.keyboard.press("Control+c");
		assert.equal(await clipboard(), `first\n${long}\nlast`);
		assert.equal(await focused(), "Terminal");
		await type("clear; echo typed$((4*4))");
		await shown("typed16");
	},

	async "keys that are pressed while something is selected go to the shell"() {
		await type("clear; echo chosen");
		await rows().filter({ hasText: /^chosen\s*$/ }).waitFor();
		await select(/^chosen\s*$/, /^chosen\s*$/);
		await type("echo typed$((5*5))");
		await shown("typed25");
	},

	async "a right click pastes"() {
		await page.evaluate(() => navigator.clipboard.writeText("echo pasted$((6*6))"));
		await type("clear");
		await view().click({ button: "right" });
		await rows().filter({ hasText: "echo pasted$((6*6))" }).waitFor();
		assert.equal(await focused(), "Terminal");
		await page.keyboard.press("Enter");
		await shown("pasted36");
	},

	async "the wheel moves in a full-screen program as arrow keys do"() {
		await showBytes("\\033[?1049h");
		await view().hover();
		await page.mouse.wheel(0, 100);
		await shown(bytes("\x1b[B"));
		await page.mouse.wheel(0, -100);
		await shown(bytes("\x1b[A"));
		await page.keyboard.press("q");
		await shown("over4");
	},

	async "a program that asked for the mouse gets it, with its place"() {
		await showBytes("\\033[?1049h\\033[?1000h\\033[?1006h");
		const box = await rows().first().boundingBox();
		await page.mouse.move(box.x + 1, box.y + 2 * box.height + 2);
		await page.mouse.wheel(0, 100);
		await shown(bytes("\x1b[<65;1;3M"));
		await page.mouse.down();
		await page.mouse.up();
		await shown(bytes("\x1b[<0;1;3M\x1b[<0;1;3m"));
		await page.keyboard.press("q");
		await shown("over4");
	},

	async "a screen reader hears the end of new output, and not all of it"() {
		const heard = page.getByLabel("New output of the terminal");
		assert.equal(await heard.getAttribute("aria-live"), "polite");
		await type("clear; echo spoken$((7*7))");
		await heard.filter({ hasText: "spoken49" }).waitFor();
		await type("seq 5000; echo much$((8*8))");
		await heard.filter({ hasText: "much64" }).waitFor();
		assert.match(await heard.textContent(), /^\d{4} lines\. The last: /);
		assert.ok((await heard.textContent()).length < 500);
	},

	async "axe finds nothing, in light and dark, wide and narrow"() {
		for (const colorScheme of ["light", "dark"])
			for (const width of [1440, 390]) {
				await page.emulateMedia({ colorScheme });
				await page.setViewportSize({ width, height: 1000 });
				await accessible(page, `${colorScheme}, ${width} px`);
				await picture(page, `terminal-${colorScheme}-${width}`);
			}
		await page.emulateMedia({ colorScheme: "light" });
		await page.setViewportSize({ width: 1280, height: 1000 });
	},

	async "a connection that is lost comes back by itself, with what was there"() {
		if (!process.env.STACK_DIR)
			return; /* the service is not the test's own: it stays up */
		await page.getByLabel("Terminal", { exact: true }).focus();
		await type("clear; echo before$((9*9))");
		await shown("before81");
		stack("daemon_stop", "nginx", "TERM", "5"); /* QUIT leaves connections open */
		await page.getByText("The connection is lost. Trying again").waitFor();
		stack("nginx_start");
		await ready();
		await shown("before81");
		assert.equal(await focused(), "Terminal");
		await type("echo after$((9*8))");
		await shown("after72");
	},

	async "but it wakes no session that was put to sleep"() {
		await call(page, "POST", `/v1/sessions/${id}/sleep`, {});
		await button("Open again").waitFor();
		await page.locator('main[data-state="asleep"]').waitFor();
		assert.equal((await call(page, "GET", `/v1/sessions/${id}`)).body.state, "asleep");
	},

	async "Close ends the attempts to come back"() {
		await button("Open again").click();
		await ready();
		await page.route("**/tickets", (route) => route.abort());
		stack("daemon_stop", "nginx", "TERM", "5"); /* QUIT leaves connections open */
		await page.getByText("The connection is lost. Trying again").waitFor();
		await button("Close").click();
		stack("nginx_start");
		await page.unroute("**/tickets");
		await page.getByText("Closed. The shell goes on.").waitFor();
		await button("Open again").waitFor();
	},

	async "no policy was violated, no error reported"() {
		assert.deepEqual(problems, []);
	},
};

await walk(STEPS, {
	async begin(browser) {
		page = await openPage(browser, problems,
			{ permissions: ["clipboard-read", "clipboard-write"] });
	},
	async failing() {
		await picture(page, "terminal-use-failed").catch(() => {});
		const seen = await view().evaluate((node) => node.innerText.trim().slice(-1500)).catch(() => "");
		return [...problems, ...seen.split("\n")];
	},
	async end() {
		if (id)
			await call(page, "DELETE", `/v1/sessions/${id}`).catch(() => {});
	},
});
