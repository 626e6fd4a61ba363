/* format.js: words and numbers for people. */

export const NONE = "\u2013";

export const STATES = ["initializing", "ready", "sleeping", "asleep", "failed",
	"lost", "deleting", "deleted"];

/* "3 s", "5 m", "2 h 10 m", "4 d" */
export function duration(seconds) {
	const s = Math.max(0, Math.floor(seconds));
	if (s < 60)
		return `${s} s`;
	if (s < 3600)
		return `${Math.floor(s / 60)} m`;
	if (s < 86400) {
		const minutes = Math.floor((s % 3600) / 60);
		return minutes === 0 ? `${Math.floor(s / 3600)} h`
			: `${Math.floor(s / 3600)} h ${minutes} m`;
	}
	return `${Math.floor(s / 86400)} d`;
}

function past(date) {
	return `${duration((Date.now() - date) / 1000)} ago`;
}

function future(date) {
	return date > Date.now() ? `in ${duration((date - Date.now()) / 1000)}`
		: past(date);
}

function age(date) {
	return duration((Date.now() - date) / 1000);
}

const KINDS = { past, future, age };

/* Shows a time in `node` and keeps it true; `kind` is past, future or age. */
export function showTime(node, iso, kind) {
	const date = typeof iso === "string" ? Date.parse(iso) : NaN;
	if (Number.isNaN(date)) {
		delete node.dataset.at;
		node.removeAttribute("datetime");
		node.removeAttribute("title");
		if (node.textContent !== NONE)
			node.textContent = NONE;
		return;
	}
	node.dataset.at = date;
	node.dataset.kind = kind;
	node.setAttribute("datetime", iso);
	node.title = new Date(date).toLocaleString();
	tick(node);
}

function tick(node) {
	const now = KINDS[node.dataset.kind](Number(node.dataset.at));
	if (node.textContent !== now)
		node.textContent = now;
}

export function keepTimesTrue() {
	setInterval(() => {
		if (!document.hidden)
			document.querySelectorAll("time[data-at]").forEach(tick);
	}, 1000);
}

/* "512 B", "1.5 kB", "20 MB" */
export function bytes(n) {
	const units = ["B", "kB", "MB", "GB", "TB"];
	let at = 0;
	let left = n ?? 0;
	while (left >= 1000 && at < units.length - 1) {
		left /= 1000;
		at++;
	}
	return `${left < 10 && at > 0 ? left.toFixed(1) : Math.round(left)} ${units[at]}`;
}

/* "keep_warm", "session-delete" and "keepWarmUntil" as words. */
export function words(code) {
	if (code === null || code === undefined || code === "")
		return NONE;
	const spaced = String(code).replace(/[_-]+/g, " ")
		.replace(/([a-z])([A-Z])/g, (m, a, b) => `${a} ${b.toLowerCase()}`);
	return spaced.charAt(0).toUpperCase() + spaced.slice(1);
}

export function value(v) {
	if (v === null || v === undefined || v === "")
		return NONE;
	if (typeof v === "boolean")
		return v ? "Yes" : "No";
	return typeof v === "object" ? JSON.stringify(v) : String(v);
}

export function isTime(v) {
	return typeof v === "string" && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(v);
}

/* A sandbox id is 52 characters; its ends tell them apart. */
export function shortId(id) {
	return id && id.length > 20 ? `${id.slice(0, 12)}\u2026${id.slice(-4)}`
		: value(id);
}

/* Name, unit, and how many of the number make one of the unit. */
const UNITS = {
	memoryMb: ["Memory", "MB"], cpus: ["CPU", "cores"], cpu: ["CPU", "cores"],
	cpuMillis: ["CPU", "cores", 1000], diskMb: ["Disk", "MB"],
	pids: ["Processes", ""], fileMb: ["File size", "MB"],
	tmpMb: ["/tmp", "MB"], files: ["Open files", ""],
};

/* The name of a limit and its value with a unit. */
export function limit(name, v) {
	const [label, unit, part = 1] = UNITS[name] ?? [words(name), ""];
	const n = typeof v === "number" ? v / part : v;
	return [label, n === null || n === undefined ? NONE
		: `${value(n)} ${n === 1 ? unit.replace(/s$/, "") : unit}`.trim()];
}

/* Terminal control sequences, which a page cannot show. */
export function withoutEscapes(s) {
	return s.replace(/\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])/g, "");
}
