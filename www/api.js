/*
 * api.js: talking to /v1 on the page's own origin.
 *
 * The login is an HttpOnly cookie this code never sees; the browser adds it,
 * and the Origin header that a changing call needs.
 */

/* An error of the service, in one form for both of its error formats. */
export class ApiError extends Error {
	constructor(status, fields) {
		super(fields.detail || fields.title);
		this.status = status;
		this.title = fields.title;
		this.detail = fields.detail;
		this.code = fields.code;
		this.errors = fields.errors ?? [];
		this.retryable = fields.retryable ?? false;
		this.requestId = fields.requestId;
	}
}

const listeners = new Set();

/* Calls back whenever an answer says that the login has ended. */
export function onUnauthenticated(listener) {
	listeners.add(listener);
}

function fieldsOf(body, response) {
	const shared = {
		title: body?.title ?? response.statusText ?? "",
		requestId: response.headers.get("X-Request-Id"),
	};
	if (body === null || typeof body !== "object")
		return { ...shared, title: `The server answered ${response.status}` };
	if (typeof body.message === "string") /* the data plane's error format */
		return {
			...shared, detail: body.message, code: body.code,
			title: body.title ?? "The session could not do this",
			retryable: body.context?.retryable === true,
		};
	return {
		...shared, detail: body.detail ?? body.error, code: body.code,
		errors: Array.isArray(body.errors) ? body.errors : [],
		retryable: body.retryable === true,
	};
}

async function json(response) {
	const type = response.headers.get("Content-Type") ?? "";
	if (response.status === 204 || !/[/+]json\b/.test(type))
		return null;
	try {
		return await response.json();
	} catch {
		return null;
	}
}

async function send(method, path, body, options = {}) {
	const headers = { ...options.headers };
	if (body !== undefined)
		headers["Content-Type"] = "application/json";
	try {
		return await fetch(`/v1${path}`, {
			method, headers, cache: "no-store", redirect: "error",
			credentials: "same-origin", signal: options.signal,
			body: body === undefined ? undefined : JSON.stringify(body),
		});
	} catch (error) {
		if (error.name === "AbortError")
			throw error;
		throw new ApiError(0, {
			title: "The server cannot be reached",
			detail: "Check that it runs and that you are connected.",
			retryable: true,
		});
	}
}

async function refuse(response, quiet) {
	const error = new ApiError(response.status,
		fieldsOf(await json(response), response));
	if (response.status === 401 && !quiet)
		listeners.forEach((listener) => listener());
	throw error;
}

async function call(method, path, body, options = {}) {
	const response = await send(method, path, body, options);
	if (!response.ok)
		await refuse(response, options.quiet);
	return json(response);
}

/* For requests that carry a name of their own; randomUUID() needs https. */
export function newKey() {
	const bytes = crypto.getRandomValues(new Uint8Array(16));
	return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

const at = (id) => `/sessions/${encodeURIComponent(id)}`;
const atPort = (id, port) => `${at(id)}/ports/${encodeURIComponent(port)}`;

export const me = () => call("GET", "/me", undefined, { quiet: true });
export const logIn = (key) => call("POST", "/login", { key }, { quiet: true });
export const logOut = () => call("DELETE", "/login");
export const health = (signal) =>
	call("GET", "/health", undefined, { signal });

export function listSessions({ state, cursor, limit }, signal) {
	const query = new URLSearchParams({ limit });
	if (state)
		query.set("state", state);
	if (cursor)
		query.set("cursor", cursor);
	return call("GET", `/sessions?${query}`, undefined, { signal });
}

export const createSession = (body, idempotencyKey) =>
	call("POST", "/sessions", body,
		{ headers: { "Idempotency-Key": idempotencyKey } });
export const getSession = (id, signal) =>
	call("GET", at(id), undefined, { signal });
export const listEvents = (id, after, signal) =>
	call("GET", `${at(id)}/events?limit=1000&after=${after}`, undefined, { signal });
export const changeSession = (id, body) => call("PATCH", at(id), body);
export const listPresets = () => call("GET", "/presets");
export const listProfiles = () => call("GET", "/profiles");
export const deleteSession = (id) => call("DELETE", at(id));
export const resumeSession = (id) => call("POST", `${at(id)}/resume`, {});
export const sleepSession = (id, suspend = false) =>
	call("POST", `${at(id)}/sleep`, { suspend });
export const extendSession = (id, seconds) =>
	call("POST", `${at(id)}/extend`, { seconds });
/* Ends the commands of a shell, or of all of them if `shell` is undefined. */
export const interruptSession = (id, shell) =>
	call("POST", `${at(id)}/interrupt`, shell === undefined ? {} : { sessionId: shell });
/* Ends one command, by the executionId that it was started with. */
export const cancelCommand = (id, execution) =>
	call("DELETE", `${at(id)}/api/executions/${encodeURIComponent(execution)}`);
export const exposePort = (id, body) => call("POST", `${at(id)}/ports`, body);
export const rotatePort = (id, port) =>
	call("POST", `${atPort(id, port)}/rotate`, {});
export const makeTicket = (id) => call("POST", `${at(id)}/tickets`, {});
export const revokePort = (id, port) => call("DELETE", atPort(id, port));

/*
 * Runs { command, sessionId, executionId } and calls `onEvent` with each event of its stream as
 * it arrives.  Ends with the stream; AbortError when `signal` ended it.
 */
export async function runCommand(id, body, onEvent, signal) {
	const response = await send("POST", `${at(id)}/api/execute/stream`,
		body, { signal, headers: { Accept: "text/event-stream" } });
	if (!response.ok)
		await refuse(response);
	const reader = response.body.pipeThrough(new TextDecoderStream())
		.getReader();
	let rest = "";
	for (;;) {
		const { done, value } = await reader.read();
		if (done)
			return;
		const events = (rest + value).split(/\r?\n\r?\n/);
		rest = events.pop();
		for (const event of events) {
			const data = event.split(/\r?\n/)
				.filter((line) => line.startsWith("data:"))
				.map((line) => line.slice(5).trimStart()).join("\n");
			if (data !== "") /* a comment is a heartbeat */
				onEvent(JSON.parse(data));
		}
	}
}
