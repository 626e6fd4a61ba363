/*
 * walk.mjs: runs steps one after the other in a browser, and prints TAP.
 *
 *   SANDLEASE_URL, SANDLEASE_API_KEY   the service and a key of scope tenant
 *   SANDLEASE_NODE_DIR                 where playwright-core is installed
 *   SANDLEASE_CHROMIUM                 the browser (default /usr/bin/chromium)
 *   SANDLEASE_SCREENSHOTS              a directory for pictures (default none)
 */
import { mkdirSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

const require = createRequire(join(process.env.SANDLEASE_NODE_DIR ?? ".", "x.js"));
const { chromium } = require("playwright-core");

export const { SANDLEASE_URL: url, SANDLEASE_API_KEY: key } = process.env;
export const PATIENCE_MS = 120000; /* wait: against hanging, never a measure */
const pictures = process.env.SANDLEASE_SCREENSHOTS;

export async function picture(page, title) {
	if (pictures)
		await page.screenshot({ path: join(pictures, `${title}.png`), fullPage: true });
}

async function take(steps, failing) {
	let number = 0;
	let failed = false;
	console.log(`1..${Object.keys(steps).length}`);
	for (const [title, step] of Object.entries(steps)) {
		number++;
		if (failed) {
			console.log(`not ok ${number} - ${title} # not reached`);
			continue;
		}
		try {
			await step();
			console.log(`ok ${number} - ${title}`);
		} catch (error) {
			failed = true;
			console.log(`not ok ${number} - ${title}`);
			for (const line of [...error.stack.split("\n"), ...await failing()])
				console.log(`# ${line}`);
		}
	}
	return failed;
}

/*
 * Calls begin(browser), then the steps as long as they succeed, and end(failed)
 * last; failing() returns details of a failed step; args go to the browser.
 */
export async function walk(steps, { begin, failing = () => [], end = () => {}, args = [] }) {
	if (!url || !key) {
		console.log("Bail out! SANDLEASE_URL and SANDLEASE_API_KEY must be set");
		process.exit(1);
	}
	if (pictures)
		mkdirSync(pictures, { recursive: true });
	const browser = await chromium.launch({
		executablePath: process.env.SANDLEASE_CHROMIUM ?? "/usr/bin/chromium",
		timeout: PATIENCE_MS,
		args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", ...args],
	});
	let failed = true;
	try {
		await begin(browser);
		failed = await take(steps, failing);
	} finally {
		process.exitCode = failed ? 1 : 0;
		await end(failed);
		await browser.close();
	}
}
