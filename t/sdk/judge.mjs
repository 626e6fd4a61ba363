/*
 * judge.mjs: the published SDK, version by version, against the running service.
 * Prints TAP.
 *
 *   SANDLEASE_URL, SANDLEASE_API_KEY   the service and a key of scope tenant
 *   SANDLEASE_NODE_DIR                 where the versions are installed
 *   SDK_ONLY                           "0.9.2 files": that version, that scenario
 */
import { register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { configured, Session } from "./service.mjs";
import { Lacks, PATIENCE_MS, Trial } from "./trial.mjs";
import { VERSIONS } from "./versions.mjs";

const SCENARIOS = ["utils", "commands", "files", "processes", "ports", "git", "interpreter", "watch",
	"backup", "sandbox", "lifecycle", "websocket"];
const AT_ONCE = 3; /* versions; each of them mostly waits */
const LONG = 5; /* seconds that are worth a remark */

register("./hooks.mjs", import.meta.url);

const only = (process.env.SDK_ONLY ?? "").split(" ").filter(Boolean);
const chosen = (names) => {
	const some = names.filter((name) => only.includes(name));
	return some.length > 0 ? some : names;
};

/* The SDK logs to the console; ours goes to stdout by another way. */
const say = (line) => process.stdout.write(`${line}\n`);
for (const level of ["debug", "info", "log", "warn", "error"])
	console[level] = () => {};

async function loadSdk(version) {
	const at = join(process.env.SANDLEASE_NODE_DIR ?? ".", "node_modules",
		`sandbox-${version}`, "dist", "index.js");
	return import(pathToFileURL(at).href);
}

/* What hangs is a failure of its case only. */
function patiently(work) {
	let timer;
	const late = new Promise((_, reject) => {
		timer = setTimeout(() => reject(new Error("hangs")), PATIENCE_MS + 30000);
	});
	return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

async function tryCase(trial, work) {
	const since = Date.now();
	const seconds = () => Math.round((Date.now() - since) / 1000);
	try {
		trial.begin();
		await patiently(work(trial));
		return { seconds: seconds() };
	} catch (error) {
		return error instanceof Lacks ? { lacks: error.message } : { error, seconds: seconds() };
	}
}

/* Each in a session of its own, which has only so many shells. */
async function judgeScenario(version, sdk, [scenario, cases]) {
	const session = await Session.create();
	const trial = new Trial(version, sdk, session);
	const results = [];
	try {
		for (const [title, work] of Object.entries(cases))
			results.push({ name: `${version} ${scenario}: ${title}`,
				...await tryCase(trial, work) });
	} finally {
		await session.delete();
	}
	return results;
}

async function judge(version, scenarios) {
	const sdk = await loadSdk(version);
	const results = [];
	for (const scenario of scenarios)
		results.push(...await judgeScenario(version, sdk, scenario));
	return results;
}

/* ---- TAP */

let count = 0;
let failed = 0;

/* Of the stack, only what is the scenario's. */
function describe(error) {
	const lines = String(error.stack ?? error).split("\n");
	const ours = SCENARIOS.map((name) => `/t/sdk/${name}.mjs:`);
	return [...lines.filter((line) => !/^ +at /.test(line)
		|| ours.some((file) => line.includes(file))),
		...error.cause ? [`cause: ${error.cause}`] : []].join("\n");
}

function report({ name, lacks, error, seconds }) {
	const remark = lacks ? ` (not in this version: ${lacks})` : "";
	say(`${error ? "not ok" : "ok"} ${++count} - ${name}${remark}`);
	if (seconds >= LONG)
		say(`# took ${seconds} s`);
	if (!error)
		return;
	failed++;
	for (const line of describe(error).slice(0, 3000).split("\n"))
		say(`# ${line}`);
}

/* A promise of the SDK's that nobody waited for. */
process.on("unhandledRejection", (error) => report({ name: "nothing fails unseen", error }));

async function main() {
	const scenarios = await Promise.all(chosen(SCENARIOS).map(
		async (name) => [name, (await import(`./${name}.mjs`)).default]));
	const waiting = chosen(Object.keys(VERSIONS));
	await Promise.all(Array.from({ length: AT_ONCE }, async () => {
		for (let version; (version = waiting.shift()) !== undefined;)
			(await judge(version, scenarios).catch(
				(error) => [{ name: `${version} can be judged`, error }])).forEach(report);
	}));
	say(`1..${count}`);
	process.exit(failed > 0 ? 1 : 0);
}

if (!configured) {
	say("Bail out! SANDLEASE_URL and SANDLEASE_API_KEY must be set");
	process.exit(1);
}
await main();
