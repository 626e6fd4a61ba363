/*
 * service.mjs: connects the SDK to the service under test.  The service's own
 * API makes and deletes sessions; requests of the SDK to "its container" go to
 * the session's data plane.
 */
import assert from "node:assert/strict";
import http from "node:http";

const { SANDLEASE_URL: url, SANDLEASE_API_KEY: key } = process.env;
const CONTROL_PORT = 3000; /* the port on which the SDK expects its container */

export const configured = Boolean(url && key);

/* ---- answers after which the SDK repeats a request
 *
 * Some version repeats every 503, and another every 500 with one of these words
 * in it.  If the service answers so for anything but a start, commands run twice.
 */
const REPEATED = new RegExp(["timed out", "timeout", "no container instance available",
	"currently provisioning", "container port not found",
	"connection refused: container port", "the container is not listening",
	"failed to verify port", "container did not start", "network connection lost",
	"container suddenly disconnected", "monitor failed to find container"].join("|"), "i");
const IN_TIME = /"Command timeout after \d+ms/; /* the one that may have such a word */

const repeatable = new Map(); /* session: answers that some version would repeat */

const plainFetch = globalThis.fetch;
globalThis.fetch = async (to, init) => {
	const answer = await plainFetch(to, init);
	const ignored = answer.headers.get("x-ignored-fields");
	assert.equal(ignored, null, `${to} does not know what the SDK sends: ${ignored}`);
	if (answer.status === 503 || answer.status === 500) {
		const text = await answer.clone().text();
		if (answer.status === 503 || (REPEATED.test(text) && !IN_TIME.test(text)))
			repeatable.get(/sessions\/([^/?]+)/.exec(to)?.[1])?.push(`${to}: ${answer.status} ${text}`);
	}
	return answer;
};

/* ---- sessions */

async function api(method, path, body) {
	const answer = await fetch(url + path, {
		method,
		headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
		body: body && JSON.stringify(body),
	});
	const text = await answer.text();
	assert.ok(answer.ok, `${method} ${path}: ${answer.status} ${text}`);
	return text && JSON.parse(text);
}

export class Session {
	static async create(body = {}) {
		return new Session((await api("POST", "/v1/sessions?wait=60", body)).id);
	}

	constructor(id, key_ = key) {
		this.id = id;
		if (!repeatable.has(id))
			repeatable.set(id, []);
		this.base = `${url}/v1/sessions/${id}`;
		this.headers = { Authorization: `Bearer ${key_}` };
	}

	row = () => api("GET", `/v1/sessions/${this.id}`);
	expose = (port) => api("POST", `/v1/sessions/${this.id}/ports`, { port });
	sleep = () => api("POST", `/v1/sessions/${this.id}/sleep`);
	delete = () => api("DELETE", `/v1/sessions/${this.id}`);

	/* Answers so far that some version would take for "try again". */
	get repeatable() {
		return repeatable.get(this.id);
	}

	/* The same session, as another client with its own key sees it. */
	as(key_) {
		return new Session(this.id, key_);
	}

	/* Sends a request for a port of the container to the session. */
	async fetch(request, port) {
		const { pathname, search } = new URL(request.url);
		const proxied = port === CONTROL_PORT ? "" : `/proxy/${port}`;
		const bare = request.method === "GET" || request.method === "HEAD";
		return fetch(this.base + proxied + pathname + search, {
			method: request.method,
			headers: { ...Object.fromEntries(request.headers), ...this.headers },
			body: bare ? undefined : await request.arrayBuffer(),
			redirect: "manual",
		});
	}

	webSockets = 0; /* opened so far */

	/* Opens a WebSocket to the session, as a container would answer an upgrade. */
	upgrade(request) {
		const { pathname } = new URL(request.url);
		const ws = new WebSocket(this.base.replace(/^http/, "ws") + pathname,
			{ headers: this.headers });
		this.webSockets++;
		return new Promise((resolve) => {
			ws.accept = () => {};
			ws.addEventListener("open", () => resolve({ status: 101, webSocket: ws }));
			ws.addEventListener("error", () => resolve({ status: 401, statusText: "refused" }));
		});
	}

	/* Options of a SandboxClient with the transport `websocket`. */
	webSocketOptions() {
		return { transportMode: "websocket", wsUrl: `ws://localhost:${CONTROL_PORT}/ws`,
			port: CONTROL_PORT, stub: {
				fetch: (request) => this.upgrade(request),
				containerFetch: (to, init, port) => this.fetch(new Request(to, init), port),
			} };
	}

	/* Options of a SandboxClient, as a user of that version gives them. */
	clientOptions(keyed) {
		if (keyed)
			return { baseUrl: this.base, defaultHeaders: this.headers };
		return { port: CONTROL_PORT, stub: {
			containerFetch: (to, init, port) => this.fetch(new Request(to, init), port),
		} };
	}
}

/*
 * GET of a preview.  Only browsers resolve its name, so the name goes into the
 * Host header.
 */
export function preview(link) {
	const { host, port, pathname, search } = new URL(link);
	return new Promise((resolve, reject) => {
		http.get({ host: "127.0.0.1", port, path: pathname + search, headers: { host } },
			async (answer) => {
				const parts = await answer.toArray();
				resolve({ status: answer.statusCode, text: Buffer.concat(parts).toString() });
			}).on("error", reject);
	});
}
