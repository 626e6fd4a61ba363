/*
 * network.mjs: tests the network of a session in the dashboard: the form for a
 * new session, what its page shows, and changes.
 */
import assert from "node:assert/strict";
import { key, picture, walk } from "./walk.mjs";
import { call, everywhere, logIn, openPage, openSession, stack } from "./person.mjs";

const problems = [];
const ids = [];
let page;
let id;

const button = (label) => page.getByRole("button", { name: label, exact: true });
const card = () => page.locator("section.card", { has: page.getByRole("heading", { name: "Network" }) });
const fact = (name) => card().locator(".fact", { has: page.locator("dt", { hasText: name }) })
	.locator("dd");
const mode = () => page.getByRole("combobox", { name: "Network" });
const session = async () => (await call(page, "GET", `/v1/sessions/${id}`)).body;

const STEPS = {
	async "the form asks for hosts only where they matter"() {
		await logIn(page, key);
		await button("New session").click();
		const hosts = page.getByLabel("Hosts");
		assert.equal(await mode().inputValue(), "");
		for (const [word, wanted] of [["none", [false, false]], ["open", [false, true]],
			["allow", [true, true]]]) {
			await mode().selectOption(word);
			assert.deepEqual([await hosts.isVisible(),
				await page.getByLabel("Requests at most").isVisible()], wanted, word);
		}
	},

	async "a preset is a button, and counts once"() {
		const hosts = page.getByLabel("Hosts");
		await hosts.fill("api.example.com, *.example.org");
		await button("@npm").click();
		await button("@npm").click();
		assert.equal(await hosts.inputValue(), "api.example.com\n*.example.org\n@npm");
		assert.match(await button("@npm").getAttribute("title"), /registry\.npmjs\.org/);
	},

	async "a host that is none is refused beside the hosts"() {
		const hosts = page.getByLabel("Hosts");
		await hosts.fill("api.example.com\nhttps://example.org/");
		await button("Create session").click();
		await page.locator(".field-error", { hasText: "example.org" }).waitFor();
		assert.equal(await hosts.getAttribute("aria-invalid"), "true");
		await everywhere(page, "create-network");
	},

	async "a session is made with the policy, and its page shows it"() {
		await page.getByLabel("Hosts").fill("api.example.com\n@npm");
		await page.getByLabel("Requests at most").fill("20");
		await page.getByLabel("Sandbox").selectOption("session");
		await button("Create session").click();
		await page.locator('main[data-state="ready"]').waitFor();
		id = page.url().match(/#\/sessions\/([a-z0-9]{20})$/)[1];
		ids.push(id);
		const { network } = await session();
		assert.deepEqual([network.mode, network.allow, network.maxRequests],
			["allow", ["api.example.com", "@npm"], 20]);
		assert.equal(await fact("Mode").textContent(), "Only these hosts");
		assert.equal(await fact("Allowed").textContent(), "api.example.com, @npm");
		assert.equal(await fact("Requests").textContent(), "0 of 20");
	},

	async "what it used and what was denied is counted on its page"() {
		stack("pg_psql", "-q", "-c", `UPDATE network_use SET connections = 3,
			requests = 5, bytes_in = 90210, bytes_out = 1807, denied = 2, ports = '{80,443}'
			WHERE session_id = '${id}'`);
		await fact("Denied").filter({ hasText: /^2$/ }).waitFor();
		assert.equal(await fact("Connections").textContent(), "3");
		assert.equal(await fact("Requests").textContent(), "5 of 20");
		assert.equal(await fact("Received").textContent(), "90 kB");
		assert.equal(await fact("Sent").textContent(), "1.8 kB");
		assert.equal(await fact("Ports").textContent(), "80, 443");
	},

	async "the history names the host that was denied"() {
		const denied = [
			["not_allowed", { host: "c.example", port: 8443, untold: 0 }],
			["not_allowed", { host: "d.example", port: 0, untold: 0 }],
			["private_address", { host: "e.example", port: 443, detail: "10.0.0.1" }],
			["packet", { host: "2001:db8::1", port: 443, detail: "udp" }]];
		for (const [reason, detail] of denied)
			stack("pg_psql", "-q", "-c", `INSERT INTO event
				(session_id, kind, what, reason, actor, detail) VALUES ('${id}', 'network',
				'denied', '${reason}', 'egress', '${JSON.stringify(detail)}')`);
		const rows = page.locator('.history tr[data-kind="network"] .h-why');
		await rows.nth(3).waitFor();
		assert.deepEqual(await rows.allTextContents(), ["[2001:db8::1]:443, Packet, udp",
			"e.example:443, Private address, 10.0.0.1", "d.example, Not allowed",
			"c.example:8443, Not allowed"]);
		await everywhere(page, "history-network");
	},

	async "the policy is changed where it is shown"() {
		await button("Change network").click();
		assert.equal(await page.getByLabel("Hosts").inputValue(), "api.example.com\n@npm");
		assert.equal(await page.getByLabel("Requests at most").inputValue(), "20");
		await page.getByLabel("Hosts").fill("b.example @nothing");
		await button("Save").click();
		await page.locator(".field-error", { hasText: "@nothing" }).waitFor();
		await everywhere(page, "change-network");
		await page.getByLabel("Hosts").fill("b.example");
		await page.getByLabel("Requests at most").fill("");
		await button("Save").click();
		await fact("Allowed").filter({ hasText: /^b\.example$/ }).waitFor();
		assert.equal(await page.getByRole("dialog").count(), 0);
		assert.equal((await session()).network.maxRequests, undefined);
	},

	async "a class that allows less is named"() {
		stack("stack_admin", "class", "set", "small", "--network-max", "a.example");
		await fact("Mode").filter({ hasText: "limited by its class" }).waitFor();
		stack("stack_admin", "class", "set", "small", "--network-max", "none");
		await fact("Mode").filter({ hasText: /^None, limited/ }).waitFor();
		await button("Change network").click();
		await mode().selectOption("open");
		await button("Save").click();
		await page.locator(".field-error", { hasText: "small" }).waitFor();
		await button("Cancel").click();
		stack("stack_admin", "class", "set", "small", "--network-max", "open");
	},

	async "of secrets it shows the names only"() {
		await call(page, "PATCH", `/v1/sessions/${id}`, { secrets: [
			{ host: "api.example.com", header: "x-api-key", value: "hush-hush" }] });
		await fact("Secrets").filter({ hasText: "x-api-key for api.example.com" }).waitFor();
		assert.equal((await page.content()).includes("hush-hush"), false);
		await everywhere(page, "session-network");
	},

	async "the default of the org is one of the choices"() {
		await button("Change network").click();
		await mode().selectOption({ label: "Default of the org" });
		await button("Save").click();
		await fact("Mode").filter({ hasText: /^None$/ }).waitFor();
	},

	async "a key that may only read sees it and cannot change it"() {
		const me = (await call(page, "GET", "/v1/me")).body;
		await button("Log out").click();
		await logIn(page, stack("stack_admin", "key", "create", "--org", me.org,
			"--user", "reader", "--scope", "read"));
		await openSession(page, id);
		await fact("Mode").waitFor();
		assert.equal(await button("Change network").isVisible(), false);
	},

	async "no policy was violated, no error reported"() {
		assert.deepEqual(problems, []);
	},
};

if (!process.env.STACK_DIR) {
	console.log("1..0 # SKIP the service is not the test's own");
	process.exit(0);
}
await walk(STEPS, {
	async begin(browser) {
		page = await openPage(browser, problems);
	},
	async failing() {
		await picture(page, "failed").catch(() => {});
		return problems;
	},
});
