/*
 * dashboard.mjs: tests a person's way through the dashboard, in a real browser
 * and against the real service.
 *
 *   STACK_DIR   set if the service is the test's own
 *
 * and the variables that walk.mjs reads.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS, key, picture as pictureOf, url, walk } from "./walk.mjs";

const STACK_SH = fileURLToPath(new URL("../lib/stack.sh", import.meta.url));

const problems = []; /* errors of pages, as the browser reports them */
const name = `browser-test-${Date.now().toString(36)}`;
let page;
let id;
let isDown = false; /* true while the test has stopped the service */

/* ---- helpers */

const picture = (title) => pictureOf(page, title);
const state = (wanted) => page.locator(`main[data-state="${wanted}"]`).waitFor();
const button = (label) => page.getByRole("button", { name: label, exact: true });

async function inDialog(label) {
	await page.getByRole("dialog").getByRole("button", { name: label, exact: true }).click();
	await page.getByRole("dialog").waitFor({ state: "detached" });
}

async function run(command) {
	await page.getByLabel("Command", { exact: true }).fill(command);
	await button("Run").click();
	return page.locator(".run").last();
}

/* A call from the page itself, with its cookie and its origin. */
function call(method, path, body) {
	return page.evaluate(async ([m, p, b]) => {
		const answer = await fetch(p, {
			method: m, headers: { "Content-Type": "application/json" },
			body: b && JSON.stringify(b),
		});
		return answer.status;
	}, [method, path, body]);
}

/* Runs a function of t/lib/stack.sh on this test's service. */
function stack(...words) {
	return execFileSync("bash", [STACK_SH, "do", ...words],
		{ encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/* True for a refusal that the test expects; the browser reports it as an error. */
function expected(message) {
	const where = message.location().url;
	return (/status of 40[01]/.test(message.text()) &&
		/\/v1\/(me|login|sessions\/[a-z0-9]{20}\/ports)$/.test(where)) ||
		(isDown && /status of 50[23]/.test(message.text()));
}

async function logIn(with_) {
	await page.getByLabel("API key").fill(with_);
	await button("Log in").click();
	await page.getByRole("heading", { name: "Sessions" }).waitFor();
}

async function open(browser) {
	page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
	page.setDefaultTimeout(PATIENCE_MS);
	page.on("console", (message) => {
		if (message.type() === "error" && !expected(message))
			problems.push(`console: ${message.text()} ${message.location().url}`);
	});
	page.on("pageerror", (error) => problems.push(`page: ${error.stack}`));
	page.on("request", (request) => {
		if (!request.url().startsWith(new URL(url).origin))
			problems.push(`foreign request: ${request.url()}`);
	});
	await page.exposeFunction("reportViolation", (v) => problems.push(`CSP: ${v}`));
	await page.addInitScript(() => document.addEventListener(
		"securitypolicyviolation",
		(e) => window.reportViolation(`${e.violatedDirective} ${e.blockedURI}`)));
}

/* ---- steps of a person */

const STEPS = {
	async "a wrong key is refused and the page says so"() {
		await page.goto(url);
		await page.getByLabel("API key").fill("sl_wrong");
		await button("Log in").click();
		await page.locator("#key-error:not(:empty)").waitFor();
		assert.equal(await page.getByLabel("API key").getAttribute("aria-invalid"), "true");
		await picture("1-wrong-key");
	},

	async "the right key opens the list, and scripts cannot see the login"() {
		await logIn(key);
		assert.equal(await page.evaluate(() => document.cookie), "");
		assert.deepEqual(await page.evaluate(
			() => [localStorage.length, sessionStorage.length]), [0, 0]);
		await page.reload();
		await page.getByRole("heading", { name: "Sessions" }).waitFor();
	},

	async "a new session becomes ready"() {
		await button("New session").click();
		await page.getByLabel("Name").fill(name);
		await button("Create session").click();
		await page.getByRole("heading", { name }).waitFor();
		await state("ready");
		id = page.url().match(/#\/sessions\/([a-z0-9]{20})$/)[1];
	},

	async "it stands in the list, also in that of its state, and opens from there"() {
		await page.getByRole("link", { name: "Sandlease" }).click();
		await page.getByRole("link", { name }).waitFor();
		await picture("2-list");
		await page.getByRole("navigation", { name: "Filter by state" })
			.getByRole("link", { name: "Ready" }).click();
		await page.getByRole("link", { name }).click();
		await state("ready");
		await page.locator(".fact", { hasText: "Generation" }).first().waitFor();
	},

	async "a list that cannot be had is not an empty one"() {
		if (!process.env.STACK_DIR)
			return; /* the service is not the test's own: it stays up */
		const row = page.getByRole("link", { name });
		await page.getByRole("link", { name: "Sandlease" }).click();
		await row.waitFor();
		isDown = true;
		stack("api_stop");
		await page.locator("#notices .notice").waitFor();
		assert.equal(await row.isVisible(), true);
		assert.equal(await page.locator(".empty").isVisible(), false);
		await picture("2-list-down");
		stack("api_start");
		await page.locator("#notices .notice").waitFor({ state: "detached" });
		await row.click();
		await state("ready");
		isDown = false;
	},

	async "a command's output and exit code are shown"() {
		const entry = await run("echo $((6 * 7)) answers; echo oops >&2; exit 3");
		await entry.locator(".end.bad").waitFor();
		assert.match(await entry.locator("pre").textContent(), /42 answers/);
		assert.match(await entry.locator(".stderr").textContent(), /oops/);
		assert.match(await entry.locator(".end").textContent(), /exit 3/);
	},

	async "output arrives while the command runs"() {
		const entry = await run(
			"echo begun; until [ -e /workspace/go ]; do sleep 0.1; done; echo over");
		await entry.locator("pre", { hasText: "begun" }).waitFor();
		assert.equal(await entry.locator(".end").textContent(), "running");
		assert.equal(await call("POST", `/v1/sessions/${id}/api/write`,
			{ path: "/workspace/go", content: "1" }), 200);
		await entry.locator(".end.good").waitFor();
		assert.match(await entry.locator("pre").textContent(), /begun\s+over/);
	},

	async "markup in output stays text"() {
		const entry = await run("echo '<img src=x onerror=alert(1)><b>bold</b>'");
		await entry.locator(".end.good").waitFor();
		assert.match(await entry.locator("pre").textContent(), /<img src=x/);
		assert.equal(await entry.locator("pre img, pre b").count(), 0);
	},

	async "a port that may not be exposed is refused beside its field"() {
		await page.getByLabel("Port", { exact: true }).fill("80");
		await button("Expose").click();
		await page.locator("#port-error:not(:empty)").waitFor();
	},

	async "an exposed port has a link, and another one after rotation"() {
		await page.getByLabel("Port", { exact: true }).fill("8080");
		await button("Expose").click();
		const link = page.locator(".ports a");
		await link.waitFor();
		const before = await link.getAttribute("href");
		assert.match(before, new RegExp(`^https?://.*8080-${id}-[a-z2-7]{26}`));
		await picture("3-session");
		await button("Rotate").click();
		await page.locator(`.ports a:not([href="${before}"])`).waitFor();
	},

	async "a revoked port is gone"() {
		await button("Revoke").click();
		await inDialog("Revoke");
		await page.locator(".ports a").waitFor({ state: "detached" });
	},

	async "its history tells the steps of its start, and who"() {
		const rows = page.locator(".history tbody tr");
		for (const step of ["Workspace", "Sandbox", "Admission", "Wrapper", "Ready"])
			await rows.filter({ has: page.locator(".h-name", { hasText: step }) })
				.first().waitFor();
		assert.equal(await rows.last().locator(".h-name").textContent(), "Initializing");
		assert.match(await rows.last().locator(".h-who").getAttribute("title"),
			/^key:[a-z0-9]+\//);
		assert.match(await page.locator('.history tr[data-kind="step"] .h-ms').first()
			.textContent(), /^[0-9]+ m?s$/);
	},

	async "it sleeps, and the history has it at its top"() {
		await button("Sleep").click();
		await state("asleep");
		await page.locator(".history tbody tr").first()
			.filter({ has: page.locator(".h-name", { hasText: "Asleep" }) }).waitFor();
		await picture("4-asleep");
	},

	async "it resumes, with its files"() {
		await button("Resume").click();
		await state("ready");
		const entry = await run("cat /workspace/go");
		await entry.locator(".end.good").waitFor();
		assert.equal((await entry.locator("pre").textContent()).trim(), "1");
	},

	async "deleting asks first and can be called off"() {
		await button("Delete").click();
		await inDialog("Cancel");
		await state("ready");
	},

	async "it is deleted, the list is shown, and nothing can be done with it any more"() {
		await button("Delete").click();
		await inDialog("Delete session");
		await page.getByRole("heading", { name: "Sessions" }).waitFor();
		await page.goto(`${url.replace(/\/*$/, "/")}#/sessions/${id}`);
		await state("deleted");
		for (const label of ["Resume", "Sleep", "Delete", "Run", "Expose", "Open"])
			assert.equal(await button(label).isVisible(), false, label);
		await picture("5-deleted");
	},

	async "a narrow window has no sideways scrolling, in the dark either"() {
		await page.emulateMedia({ colorScheme: "dark" });
		await page.setViewportSize({ width: 360, height: 800 });
		for (const where of [`#/sessions/${id}`, "#/sessions"]) {
			await page.goto(url.replace(/\/*$/, "/") + where);
			await page.locator("h1").waitFor();
			assert.equal(await page.evaluate(() =>
				document.documentElement.scrollWidth <= window.innerWidth), true, where);
		}
		await picture("6-narrow-dark");
		await page.setViewportSize({ width: 1280, height: 900 });
	},

	async "logging out ends the login on the server too"() {
		await button("Log out").click();
		await page.getByLabel("API key").waitFor();
		assert.equal(await call("GET", "/v1/me"), 401);
		await page.goto(`${url.replace(/\/*$/, "/")}#/sessions`);
		await page.reload();
		await page.getByLabel("API key").waitFor();
	},

	async "an operator is shown leases without their session's row, and stops that fail"() {
		if (!process.env.STACK_DIR)
			return; /* the service is not the test's own: its rows stay as they are */
		const lost = page.locator(".troubles .notice", { hasText: "without their session" });
		const lease = "z".repeat(20);
		const query = (text) => stack("pg_psql", "-q", "-c", text);
		query(`INSERT INTO lease (session_id, state, generation, instance, session_gone)
			VALUES ('${lease}', 'owns_wrapper', 1, 'x', true)`);
		await logIn(stack("stack_admin", "key", "create", "--org", "ops",
			"--user", "ops", "--scope", "admin"));
		await lost.filter({ hasText: ": 1" }).waitFor();
		await picture("7-operator");
		stack("stack_admin", "lease", "release", "--force", lease);
		await lost.waitFor({ state: "detached" });
		query(`UPDATE lease SET state = 'stop_needed', reason = 'recovery', attempts = 5,
			next_attempt_at = 'infinity' WHERE session_id = '${lease}'`);
		await page.locator(".troubles .notice", { hasText: "Stops that fail" }).waitFor();
	},

	async "no policy was violated, nothing foreign asked for, no error reported"() {
		assert.deepEqual(problems, []);
	},
};

await walk(STEPS, {
	begin: open,
	async failing() {
		await picture("failed").catch(() => {});
		return problems;
	},
	async end(failed) {
		if (id && failed)
			await call("DELETE", `/v1/sessions/${id}`).catch(() => {});
	},
});
