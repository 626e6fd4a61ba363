/*
 * judge.mjs: tests the published SDK, version by version, against the service.
 * Prints TAP.
 *
 *   SANDLEASE_URL, SANDLEASE_API_KEY   the service and a key of scope tenant
 *   SANDLEASE_NODE_DIR                 where the versions are installed
 *   SDK_ONLY                           "0.9.2 files": that version, that scenario
 *   SANDLEASE_SAMPLE                   0 to 6: not all versions, see today()
 */
import { register } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { configured, Session } from "./service.mjs";
import { Lacks, Trial } from "./trial.mjs";
import { VERSIONS, WHY } from "./versions.mjs";

const SCENARIOS = ["utils", "commands", "files", "processes", "ports", "git", "interpreter", "watch",
	"backup", "sandbox", "lifecycle", "websocket"];
const AT_ONCE = 4; /* scenarios; each mostly waits */
const LONG = 5; /* seconds; a case that takes as long gets a remark */
const HANGS_MS = 600000; /* wait: the limit of one case, against hanging */

register("./hooks.mjs", import.meta.url);

const only = (process.env.SDK_ONLY ?? "").split(" ").filter(Boolean);
const chosen = (names) => {
	const some = names.filter((name) => only.includes(name));
	return some.length > 0 ? some : names;
};

/*
 * Returns the oldest, a middle and the newest version, and one of the others in
 * turn.  Returns all versions if SANDLEASE_SAMPLE is unset or "all".
 */
function today(versions) {
	const sample = Number.parseInt(process.env.SANDLEASE_SAMPLE ?? "all", 10);
	if (Number.isNaN(sample))
		return versions;
	const always = [0, versions.length >> 1, versions.length - 1].map((at) => versions[at]);
	const others = versions.filter((version) => !always.includes(version));
	return [...always, others[sample % others.length]];
}

/* The SDK logs to the console, so the judge writes to stdout directly. */
const say = (line) => process.stdout.write(`${line}\n`);
for (const level of ["debug", "info", "log", "warn", "error"])
	console[level] = () => {};

async function loadSdk(version) {
	const at = join(process.env.SANDLEASE_NODE_DIR ?? ".", "node_modules",
		`sandbox-${version}`, "dist", "index.js");
	return import(pathToFileURL(at).href);
}

/* A case that hangs fails alone. */
function patiently(work) {
	let timer;
	const late = new Promise((_, reject) => {
		/* wait: 91 s is the longest seen, with a load of ten per core */
		timer = setTimeout(() => reject(new Error("hangs")), HANGS_MS);
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

/* Each scenario has its own session, because the number of shells in one is limited. */
async function judge(version, [scenario, cases]) {
	const sdk = await loadSdk(version);
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

/* ---- TAP */

let count = 0;
let failed = 0;

/* Keeps only the scenarios' own lines of the stack. */
function describe(error) {
	const lines = String(error.stack ?? error).split("\n");
	const ours = SCENARIOS.map((name) => `/t/sdk/${name}.mjs:`);
	return [...lines.filter((line) => !/^ +at /.test(line)
		|| ours.some((file) => line.includes(file))),
		...error.cause ? [`cause: ${error.cause}`] : []].join("\n");
}

function report({ name, lacks, error, seconds }) {
	const remark = lacks ? ` (not in this version: ${lacks}: ${WHY[lacks]})` : "";
	say(`${error ? "not ok" : "ok"} ${++count} - ${name}${remark}`);
	if (seconds >= LONG)
		say(`# took ${seconds} s`);
	if (!error)
		return;
	failed++;
	for (const line of describe(error).slice(0, 3000).split("\n"))
		say(`# ${line}`);
}

/* Reports a rejected promise of the SDK that no code awaited. */
process.on("unhandledRejection", (error) => report({ name: "nothing fails unseen", error }));

/* Checks that WHY explains everything in `lacks`, and nothing else. */
function reportExplained() {
	const lacking = new Set(Object.values(VERSIONS).flatMap(({ lacks }) => lacks));
	const wrong = [...[...lacking].filter((thing) => !WHY[thing]),
		...Object.keys(WHY).filter((thing) => !lacking.has(thing))];
	report({ name: "what is not judged in some versions is explained",
		error: wrong.length > 0 ? new Error(wrong.join(", ")) : undefined });
}

async function main() {
	reportExplained();
	const scenarios = await Promise.all(chosen(SCENARIOS).map(
		async (name) => [name, (await import(`./${name}.mjs`)).default]));
	const named = chosen(Object.keys(VERSIONS)); /* all versions, if none is named */
	const versions = named.length < Object.keys(VERSIONS).length ? named : today(named);
	const waiting = scenarios.flatMap(
		(scenario) => versions.map((version) => [version, scenario]));
	await Promise.all(Array.from({ length: AT_ONCE }, async () => {
		for (let job; (job = waiting.shift()) !== undefined;)
			(await judge(...job).catch((error) => [
				{ name: `${job[0]} ${job[1][0]} can be judged`, error }])).forEach(report);
	}));
	say(`1..${count}`);
	process.exit(failed > 0 ? 1 : 0);
}

if (!configured) {
	say("Bail out! SANDLEASE_URL and SANDLEASE_API_KEY must be set");
	process.exit(1);
}
await main();
