/*
 * platform.mjs: stands in for the two imports of the SDK that exist only on the
 * platform it was written for, `cloudflare:workers` and
 * `@cloudflare/containers`.
 *
 * A Sandbox of the SDK is a Container.  The container here always runs; its
 * requests go to the session that its environment names (service.mjs).
 */
import { timingSafeEqual } from "node:crypto";

/* ---- cloudflare:workers */

export class RpcTarget {}
export class WorkerEntrypoint {}
export class DurableObject {}
export const tracing = {};

/* WebCrypto on the platform has this function; the SDK compares preview tokens with it. */
crypto.subtle.timingSafeEqual ??= timingSafeEqual;

/* ---- @cloudflare/containers */

const TARGET_PORT = "cf-container-target-port";

export class Container {
	constructor(ctx, env) {
		this.ctx = ctx;
		this.env = env;
	}

	async getState() {
		return { status: "healthy", lastChange: Date.now() };
	}

	/* (request, port), (url, port) or (url, init, port) */
	containerFetch(what, ...rest) {
		const init = rest.find((argument) => typeof argument === "object");
		const port = rest.find((argument) => typeof argument === "number");
		return this.env.session.fetch(new Request(what, init), port ?? this.defaultPort);
	}

	fetch(request) {
		const port = Number(request.headers.get(TARGET_PORT) ?? this.defaultPort);
		return this.containerFetch(request, port);
	}

	async startAndWaitForPorts() {}
	async stop() {}
	async destroy() {}
	async onActivityExpired() {}
	renewActivityTimeout() {}
}

export class ContainerProxy extends WorkerEntrypoint {}

export function getContainer(namespace, name) {
	return namespace.get(name);
}

export function switchPort(request, port) {
	const headers = new Headers(request.headers);
	headers.set(TARGET_PORT, String(port));
	return new Request(request, { headers });
}

/* ---- objects that the platform gives to a Container */

globalThis.FixedLengthStream ??= class extends TransformStream {
	constructor(_length) {
		super();
	}
};

/* Objects by name; the platform keeps them outside of every sandbox. */
export class Bucket {
	#objects = new Map();

	async put(key, value) {
		this.#objects.set(key, new Uint8Array(await new Response(value).arrayBuffer()));
	}

	async get(key) {
		const bytes = this.#objects.get(key);
		return bytes ? new Response(bytes) : null;
	}

	async head(key) {
		const bytes = this.#objects.get(key);
		return bytes ? { size: bytes.length } : null;
	}

	async delete(key) {
		this.#objects.delete(key);
	}

	async list() {
		return { objects: [...this.#objects.keys()].map((key) => ({ key })) };
	}
}

/* Settings of a place that neither this test nor a sandbox can reach. */
const REMOTE = {
	R2_ACCESS_KEY_ID: "id", R2_SECRET_ACCESS_KEY: "secret", CLOUDFLARE_ACCOUNT_ID: "0".repeat(32),
	CLOUDFLARE_R2_ACCOUNT_ID: "0".repeat(32), BACKUP_BUCKET_NAME: "backups",
};

class Storage extends Map {
	/* the methods of a Map return at once; the SDK awaits them */
	put(key, value) {
		this.set(key, value);
	}

	transaction(change) {
		return change(this);
	}
}

/* A namespace of Sandboxes in front of one session; makes each when it is asked for. */
export class Namespace {
	#made = new Map();

	constructor(Sandbox, session) {
		this.Sandbox = Sandbox;
		this.session = session;
		this.bucket = new Bucket();
	}

	get(name) {
		if (!this.#made.has(name))
			this.#made.set(name, this.#make(name));
		return this.#made.get(name);
	}

	/*
	 * As on the platform, no method of a Sandbox runs before its setup has
	 * ended, and a call that configures the Sandbox ends before the next
	 * call begins.
	 */
	#make(name) {
		let ready;
		const box = new this.Sandbox({
			id: { toString: () => name },
			storage: new Storage(),
			blockConcurrencyWhile: (work) => ready = work(),
			container: { running: true, getTcpPort: (port) => this.#tcpPort(port) },
		}, { session: this.session, BACKUP_BUCKET: this.bucket, ...REMOTE });
		return new Proxy(box, { get(_, member) {
			const value = box[member];
			if (typeof value !== "function")
				return value;
			return (...given) => {
				const done = ready.then(() => value.apply(box, given));
				if (/^(configure|set)/.test(member))
					ready = done.catch(() => {});
				return done;
			};
		} });
	}

	#tcpPort(port) {
		return { fetch: async (url, request) => Object.assign(
			await this.session.fetch(new Request(url, request), port), { webSocket: null }) };
	}
}
