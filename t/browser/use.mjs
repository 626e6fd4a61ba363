/*
 * use.mjs: tests the dashboard where people stumble: a service that restarts, a
 * setup that fails, commands that must be stopped, colours, keys that may only
 * look, small windows.  In a real browser and against the real service.
 */
import assert from "node:assert/strict";
import { key, picture, walk } from "./walk.mjs";
import { call, everywhere, logIn, openPage, openSession, origin, stack } from "./person.mjs";

const problems = [];
const ids = [];
const own = Boolean(process.env.STACK_DIR); /* else the service stays up */
let page;
let id;

const button = (label) => page.getByRole("button", { name: label, exact: true });
const state = (wanted) => page.locator(`main[data-state="${wanted}"]`).waitFor();

async function inDialog(label) {
	await page.getByRole("dialog").getByRole("button", { name: label, exact: true }).click();
	await page.getByRole("dialog").waitFor({ state: "detached" });
}

async function run(command) {
	await page.getByLabel("Command", { exact: true }).fill(command);
	await button("Run").click();
	return page.locator(".run").last();
}

async function make(body) {
	const made = await call(page, "POST", "/v1/sessions", { isolation: "session", ...body });
	const named = made.body.id ?? made.body.session?.id;
	assert.ok(named, JSON.stringify(made));
	ids.push(named);
	return named;
}

const STEPS = {
	async "an empty list has no buttons to turn pages"() {
		await everywhere(page, "login");
		await logIn(page, own ? stack("stack_admin", "key", "create", "--org", "nobody",
			"--user", "nobody") : key);
		if (own) {
			await page.getByText("No sessions yet.").waitFor();
			for (const label of ["Previous", "Next"])
				assert.equal(await button(label).isVisible(), false, label);
			assert.equal(await page.locator("table").isVisible(), false);
			await everywhere(page, "list-empty");
		}
		await button("Log out").click();
		await logIn(page, key);
	},

	async "more than a page of them has"() {
		for (let i = 0; i < 26; i++) /* all in one sandbox: these sessions are only listed */
			await call(page, "POST", "/v1/sessions?wait=0", { isolation: "shared",
				agentType: "reviewer" }).then(({ body }) => ids.push(body.id));
		await button("Next").waitFor();
		await button("Next").click();
		await page.getByText("Page 2").waitFor();
		await button("Previous").click();
		await page.getByText("Page 1").waitFor();
	},

	async "an agent's type is any text; profiles and those in use are suggested"() {
		await button("New session").click();
		const field = page.getByLabel("Agent type");
		const options = page.locator(`#${await field.getAttribute("list")} option`);
		await options.nth(5).waitFor({ state: "attached" });
		assert.deepEqual(await options.evaluateAll((all) => all.map((o) => o.value)),
			["CONTEXT_GATHERING", "ELICITATION", "IMPLEMENTATION", "TEST_WRITER",
				"VALIDATION", "reviewer"]);
		await field.fill("Bug hunter");
		await page.getByLabel("Name").fill("rough");
		await everywhere(page, "create");
		await button("Create session").click();
		await state("ready");
		id = page.url().match(/#\/sessions\/([a-z0-9]{20})$/)[1];
		ids.push(id);
		await page.locator(".fact", { hasText: "Bug hunter" }).waitFor();
	},

	async "who reloads while the service restarts is told, stays logged in and comes back"() {
		if (!own)
			return;
		stack("api_stop");
		await page.reload();
		await page.locator("#notices .notice").waitFor();
		await page.getByText("This page goes on by itself").waitFor();
		assert.equal(await page.getByLabel("API key").count(), 0);
		await picture(page, "restart");
		stack("api_start");
		await page.getByRole("heading", { name: "rough" }).waitFor();
		assert.equal(await page.locator("#notices .notice").count(), 0);
	},

	async "a notice goes when it is no longer true"() {
		if (!own)
			return;
		stack("api_stop");
		await page.locator("#notices .notice").waitFor();
		stack("api_start");
		await page.locator("#notices .notice").waitFor({ state: "detached" });
	},

	async "a login that has ended says so, and leads back"() {
		const cookies = await page.context().cookies();
		await page.context().clearCookies();
		await page.getByText("Your login has ended").waitFor();
		await page.context().addCookies(cookies);
		await page.getByLabel("API key").fill(key);
		await button("Log in").click();
		await page.getByRole("heading", { name: "rough" }).waitFor();
	},

	async "a running command can be stopped, and then another one runs"() {
		const entry = await run("echo begun; sleep 1000; echo not reached");
		await entry.locator("pre", { hasText: "begun" }).waitFor();
		await button("Stop").click();
		await entry.locator(".end", { hasText: "stopped" }).waitFor();
		assert.equal((await entry.locator("pre").textContent()).trim(), "begun");
		await button("Stop").waitFor({ state: "hidden" });
		const next = await run("echo next");
		await next.locator(".end.good").waitFor();
	},

	async "stopping a command does not end one that was detached before"() {
		const left = await run("echo begun; sleep 2001");
		await left.locator("pre", { hasText: "begun" }).waitFor();
		await button("Detach").click();
		await left.locator(".end", { hasText: "detached" }).waitFor();
		const entry = await run("echo begun; sleep 2002");
		await entry.locator("pre", { hasText: "begun" }).waitFor();
		await button("Stop").click();
		await entry.locator(".end", { hasText: "stopped" }).waitFor();
		const { executions } = await page.evaluate(async (path) =>
			(await fetch(path)).json(), `/v1/sessions/${id}/api/executions`);
		assert.deepEqual(executions.map((e) => e.command), ["echo begun; sleep 2001"]);
	},

	async "commands that somebody else runs are stopped from the head"() {
		const other = page.evaluate(async (path) => {
			const answer = await fetch(path, {
				method: "POST", headers: { "Content-Type": "application/json" },
				body: JSON.stringify({ command: "sleep 100" }),
			});
			return answer.json();
		}, `/v1/sessions/${id}/api/execute`);
		await button("Stop commands").click();
		await inDialog("Stop commands");
		assert.equal((await other).exitCode, 130);
	},

	async "a progress bar is one line, and colours are shown"() {
		const entry = await run("for i in 1 22 333; do printf '\\rdone %s' $i; done; printf '\\r\\033[Kall'; " +
			"echo; printf '\\033[1;31mred\\033[0m \\033[38;5;208mgold\\033[m plain\\033[?25l\\033]0;t\\007!\\n'; " +
			"printf 'abc\\bX\\tY\\n'");
		await entry.locator(".end.good").waitFor();
		assert.deepEqual((await entry.locator("pre").textContent()).split("\n"),
			["all", "red gold plain!", "abX     Y", ""]);
		assert.equal(await entry.locator(".bold.fore-9").textContent(), "red");
		assert.equal(await entry.locator('span[style*="255, 135, 0"]').textContent(), "gold");
		const slow = await run("printf '\\033[3'; sleep 0.3; printf '2mgreen\\033[0m\\n'"); /* wait: two events of one sequence; a single event passes, too */
		await slow.locator(".fore-2", { hasText: "green" }).waitFor();
	},

	async "markup in colours stays text"() {
		const entry = await run("printf '\\033[31m<img src=x onerror=alert(1)>\\033[0m\\n'");
		await entry.locator(".end.good").waitFor();
		assert.equal(await entry.locator("pre img").count(), 0);
		assert.match(await entry.locator(".fore-1").textContent(), /^<img src=x/);
		await everywhere(page, "session");
	},

	async "it stays awake for an hour when asked to"() {
		await button("Stay awake 1 h").click();
		await page.locator(".fact", { hasText: "Alive because" }).filter({ hasText: "Extended" }).waitFor();
		const { alive } = (await call(page, "GET", `/v1/sessions/${id}`)).body;
		/*
		 * wait: measures no time; the date was 10 minutes ahead and is
		 * an hour now
		 */
		assert.ok(Date.parse(alive.until) > Date.now() + 50 * 60000, alive.until);
	},

	async "it is suspended, or stopped where nothing can be frozen"() {
		await button("Suspend").click();
		await state("asleep");
		const { suspended, reason } = (await call(page, "GET", `/v1/sessions/${id}`)).body;
		assert.ok(suspended === true || reason === "cannot_suspend", reason);
		await button("Resume").click();
		await state("ready");
	},

	async "a setup that failed shows the end of its output, in red and on top"() {
		const failed = await make({ setup: "seq 500; printf '\\033[31mno such package\\033[0m\\n' >&2; exit 7" });
		await openSession(page, failed);
		await state("failed");
		const box = page.locator(".setup");
		await box.getByText("The setup failed (exit 7).").waitFor();
		await box.locator("pre", { hasText: "no such package" }).waitFor();
		assert.equal(await box.locator("pre").evaluate((pre) =>
			pre.scrollTop + pre.clientHeight >= pre.scrollHeight - 2), true, "its end is seen");
		const head = await box.boundingBox();
		assert.ok(head.y < (await page.locator(".columns").boundingBox()).y);
		assert.equal(await button("Run").isVisible(), false);
		await button("Resume").waitFor();
		await everywhere(page, "setup-failed");
	},

	async "what a setup wrote that succeeded is in the history"() {
		await openSession(page, await make({ setup: "echo prepared $((6*7))" }));
		await state("ready");
		const row = page.locator(".history tr", { hasText: "Done" });
		await row.getByText("Output", { exact: true }).click();
		await row.locator("pre", { hasText: "prepared 42" }).waitFor();
	},

	async "a key that may only look is shown no buttons that it cannot use"() {
		if (!own)
			return;
		const me = (await call(page, "GET", "/v1/me")).body;
		await button("Log out").click();
		await logIn(page, stack("stack_admin", "key", "create", "--org", me.org,
			"--user", me.user, "--scope", "read"));
		await page.getByText("Your key has scope read").waitFor();
		assert.equal(await button("New session").isVisible(), false);
		await everywhere(page, "list-read");
		await openSession(page, id);
		await page.locator(".fact", { hasText: "Bug hunter" }).waitFor();
		await page.getByText("Your key has scope read").waitFor();
		assert.deepEqual(await page.locator("button:visible").allTextContents(), ["Log out", "Copy"]);
		await everywhere(page, "session-read");
		await button("Log out").click();
		await logIn(page, key);
	},

	async "in a narrow window every filter can be seen"() {
		await page.setViewportSize({ width: 390, height: 800 });
		const links = await page.getByRole("navigation", { name: "Filter by state" })
			.getByRole("link").all();
		assert.equal(links.length, 9);
		for (const link of links) {
			const { x, width } = await link.boundingBox();
			assert.ok(x >= 0 && x + width <= 390, await link.textContent());
		}
		await page.setViewportSize({ width: 1280, height: 1000 });
	},

	async "no policy was violated, no error reported"() {
		assert.deepEqual(problems, []);
	},
};

await walk(STEPS, {
	async begin(browser) {
		page = await openPage(browser, problems);
		await page.goto(origin);
		await page.getByLabel("API key").waitFor();
	},
	async failing() {
		await picture(page, "use-failed").catch(() => {});
		return [...problems, await page.locator("main").innerText().catch(() => "")]
			.flatMap((text) => text.split("\n"));
	},
	async end() {
		for (const made of ids)
			await call(page, "DELETE", `/v1/sessions/${made}`).catch(() => {});
	},
});
