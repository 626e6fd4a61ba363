/* ports.mjs: tests ports that are exposed, and ports that the SDK waits for. */
import assert from "node:assert/strict";
import { preview } from "./service.mjs";
import { types } from "./trial.mjs";

/* each case has its own port: 4001, 4002, ... */
const portOf = (t) => 4000 + t.cases;

const serve = (port, more = "") =>
	`cd /tmp && echo 'served on ${port}' > ${port}.html && ${more} exec python3 -m http.server ${port} --bind 127.0.0.1`;

async function start(t, command) {
	return (await t.client.processes.startProcess(command, t.shell)).processId;
}

export default {
	async "a port is exposed by a link that works, listed, and closed"(t) {
		t.needs("ports.exposePort");
		const { ports, processes } = t.client;
		const port = portOf(t);
		const id = await start(t, serve(port));
		await t.until(`curl -fs 127.0.0.1:${port}`);
		const exposed = await ports.exposePort(port, t.shell, "web");
		assert.deepEqual([exposed.success, exposed.port], [true, port]);
		const link = new URL(`${port}.html`, exposed.url);
		assert.deepEqual(await preview(link), { status: 200, text: `served on ${port}\n` });
		const listed = (await ports.getExposedPorts(t.shell)).ports.find((one) => one.port === port);
		assert.deepEqual([listed.port, listed.status, new URL(listed.url).host],
			[port, "active", link.host]);
		const closed = await ports.unexposePort(port, t.shell);
		assert.deepEqual([closed.success, closed.port], [true, port]);
		assert.deepEqual((await ports.getExposedPorts(t.shell)).ports, []);
		assert.equal((await preview(link)).status, 404);
		await processes.killProcess(id);
	},

	async "a port that is not exposed cannot be closed"(t) {
		t.needs("ports.unexposePort");
		const error = await t.refused("PORT_NOT_EXPOSED", 404,
			t.client.ports.unexposePort(portOf(t), t.shell));
		assert.equal(error.context.port, portOf(t));
	},

	async "a port is exposed once"(t) {
		t.needs("ports.exposePort");
		const port = portOf(t);
		await t.client.ports.exposePort(port, t.shell);
		await t.refused("PORT_ALREADY_EXPOSED", 409, t.client.ports.exposePort(port, t.shell));
		await t.client.ports.unexposePort(port, t.shell);
		await t.client.ports.exposePort(port, t.shell);
		await t.client.ports.unexposePort(port, t.shell);
	},

	async "what is no port, or not for users, is refused"(t) {
		t.needs("ports.exposePort");
		for (const port of [0, -1, 80, 1023, 3000, 65536])
			await t.refused("INVALID_PORT_NUMBER", 400, t.client.ports.exposePort(port, t.shell));
		assert.deepEqual((await t.client.ports.getExposedPorts(t.shell)).ports, []);
	},

	async "a port can be looked at"(t) {
		const port = portOf(t);
		const look = (more) => t.client.ports.post("/api/port-check", { port, ...more });
		assert.equal((await look({ mode: "tcp" })).ready, false);
		const id = await start(t, serve(port));
		await t.until(`curl -fs 127.0.0.1:${port}`);
		assert.equal((await look({ mode: "tcp" })).ready, true);
		const page = await look({ mode: "http", path: `/${port}.html` });
		assert.deepEqual([page.ready, page.statusCode], [true, 200]);
		const none = await look({ mode: "http", path: "/none" });
		assert.deepEqual([none.ready, none.statusCode], [false, 404]);
		await t.client.processes.killProcess(id);
	},

	async "a port is waited for, by HTTP"(t) {
		t.needs("ports.watchPort");
		const port = portOf(t);
		const go = `/workspace/${t.shell}.go`;
		const processId = await start(t, `until [ -e ${go} ]; do sleep 0.05; done; ${serve(port)}`);
		const stream = await t.client.ports.watchPort({ port, mode: "http", path: `/${port}.html`,
			statusMin: 200, statusMax: 299, processId, interval: 100 });
		const events = [];
		for await (const event of t.sdk.parseSSEStream(stream)) {
			events.push(event);
			if (event.type === "watching")
				await t.says(`touch ${go}`);
		}
		assert.deepEqual([types(events)[0], types(events).at(-1)], ["watching", "ready"]);
		assert.deepEqual([events.at(-1).port, events.at(-1).statusCode], [port, 200]);
		await t.client.processes.killProcess(processId);
	},

	async "a port is waited for, by TCP"(t) {
		t.needs("ports.watchPort");
		const port = portOf(t);
		const processId = await start(t, serve(port));
		const events = await t.events(await t.client.ports.watchPort(
			{ port, mode: "tcp", processId, interval: 100 }));
		assert.equal(types(events).at(-1), "ready");
		await t.client.processes.killProcess(processId);
	},

	async "waiting ends with the process that was to listen"(t) {
		t.needs("ports.watchPort");
		/* wait: the process sleeps, and then ends on any machine */
		const processId = await start(t, "sleep 0.3; exit 6");
		const events = await t.events(await t.client.ports.watchPort(
			{ port: portOf(t), mode: "tcp", processId, interval: 100 }));
		assert.deepEqual([types(events).at(-1), events.at(-1).exitCode], ["process_exited", 6]);
	},

	async "an answer that is not wanted is not ready"(t) {
		t.needs("ports.watchPort");
		const port = portOf(t);
		const processId = await start(t, `${serve(port).replace("exec ", "timeout 3 ")}; exit 6`);
		const events = await t.events(await t.client.ports.watchPort({ port, mode: "http",
			path: "/no-such-page", statusMin: 200, statusMax: 299, processId, interval: 100 }));
		assert.equal(types(events).at(-1), "process_exited");
	},
};
