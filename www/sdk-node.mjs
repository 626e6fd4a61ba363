/*
 * sdk-node.mjs: lets the npm package @cloudflare/sandbox run in plain Node (20.6 or
 * newer).  Copy this file; it needs nothing else.
 *
 *	import "./sdk-node.mjs";
 *	const { SandboxClient } = await import("@cloudflare/sandbox");
 *
 * The package imports two modules that exist only on the platform it was written
 * for.  Its clients use nothing of them, so that classes without a body are enough.
 * The import of the package has to be a dynamic one: static ones are resolved
 * before anything here runs.
 */
import { register } from "node:module";

const source = (text) => `data:text/javascript,${encodeURIComponent(text)}`;

const MODULES = {
	"cloudflare:workers": source(`
		export class DurableObject {}
		export class RpcTarget {}
		export class WorkerEntrypoint {}
		export const env = {};
		export const tracing = {};`),
	"@cloudflare/containers": source(`
		export class Container {}
		export class ContainerProxy {}
		export const getContainer = (namespace, name) => namespace.get(name);
		export const switchPort = (request) => request;`),
};

register(source(`
	const MODULES = ${JSON.stringify(MODULES)};

	export const resolve = (specifier, context, next) => specifier in MODULES
		? { url: MODULES[specifier], shortCircuit: true }
		: next(specifier, context);`));
