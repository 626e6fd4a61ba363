/*
 * person.mjs: helpers for tests of the dashboard: pages that report errors,
 * login, calls, and functions of the service.
 */
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { PATIENCE_MS, picture, url } from "./walk.mjs";

const STACK_SH = fileURLToPath(new URL("../lib/stack.sh", import.meta.url));
const require = createRequire(join(process.env.SANDLEASE_NODE_DIR ?? ".", "x.js"));

export const origin = new URL(url).origin;

/* Runs a function of t/lib/stack.sh on this test's service. */
export function stack(...words) {
	return execFileSync("bash", [STACK_SH, "do", ...words],
		{ encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}

/* Opens a page; its exceptions and the refusals of its policy go into `problems`. */
export async function openPage(browser, problems, options = {}) {
	const context = await browser.newContext({
		viewport: { width: 1280, height: 1000 }, ...options,
	});
	context.setDefaultTimeout(PATIENCE_MS);
	const page = await context.newPage();
	page.on("pageerror", (error) => problems.push(`page: ${error.stack}`));
	await page.exposeFunction("reportViolation", (v) => problems.push(`CSP: ${v}`));
	await page.addInitScript(() => document.addEventListener(
		"securitypolicyviolation",
		(e) => window.reportViolation(`${e.violatedDirective} ${e.blockedURI}`)));
	return page;
}

export async function logIn(page, key) {
	await page.goto(url);
	await page.getByLabel("API key").fill(key);
	await page.getByRole("button", { name: "Log in", exact: true }).click();
	await page.getByRole("heading", { name: "Sessions" }).waitFor();
}

/* A call from the page itself, with its cookie and its origin. */
export function call(page, method, path, body) {
	return page.evaluate(async ([m, p, b]) => {
		const answer = await fetch(p, {
			method: m, headers: { "Content-Type": "application/json" },
			body: b && JSON.stringify(b),
		});
		return { status: answer.status, body: await answer.json().catch(() => null) };
	}, [method, path, body]);
}

export async function openSession(page, id) {
	await page.goto(`${origin}/#/sessions/${id}`);
	await page.locator("main[data-state]").waitFor();
}

/* Checks that nothing is wider than the window. */
export async function fits(page, what) {
	const [document_, window_] = await page.evaluate(() =>
		[document.documentElement.scrollWidth, window.innerWidth]);
	assert.ok(document_ <= window_, `${what}: ${document_} px in ${window_}`);
}

/* Checks that axe-core finds nothing; runs it from outside, as the policy is strict. */
export async function accessible(page, what) {
	await page.evaluate(readFileSync(require.resolve("axe-core/axe.min.js"), "utf8"));
	const found = await page.evaluate(async () => (await window.axe.run(document, {
		runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"],
	})).violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.html.slice(0, 200)).join(" | ")}`));
	assert.deepEqual(found, [], what);
}

/* Checks windows of each kind: nothing is wider than the window, axe finds nothing. */
export async function everywhere(page, what) {
	for (const colorScheme of ["light", "dark"])
		for (const width of [1440, 390]) {
			await page.emulateMedia({ colorScheme });
			await page.setViewportSize({ width, height: 900 });
			await fits(page, `${what}, ${width} px`);
			await accessible(page, `${what}, ${colorScheme}, ${width} px`);
			await picture(page, `${what}-${colorScheme}-${width}`);
		}
	await page.emulateMedia({ colorScheme: "light" });
	await page.setViewportSize({ width: 1280, height: 1000 });
}
