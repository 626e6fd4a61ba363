/*
 * websocket.mjs: tests the transport `websocket`, /ws: requests of the other
 * files once more over a WebSocket, and features that only a WebSocket has.
 */
import assert from "node:assert/strict";
import { types } from "./trial.mjs";

const SCENARIOS = ["utils", "commands", "files", "processes", "ports", "git", "interpreter",
	"watch", "backup"];

/* A refused stream is an Error with the answer in its message. */
const REFUSED = /^Stream error: (\d+) - (\{.*\})$/s;

/* Older versions return a stream at once, and throw the error when it is read. */
async function reading(promise) {
	const value = await promise;
	if (value instanceof ReadableStream)
		await value.getReader().read();
}

const overs = new WeakMap();

/* The same trial, with a client that uses a WebSocket. */
function over(t) {
	t.needs("websocket");
	if (!overs.has(t))
		overs.set(t, Object.assign(Object.create(t), {
			client: t.clientOf(t.session, t.session.webSocketOptions()),
			async refused(code, httpStatus, promise) {
				const error = await reading(promise).catch((reason) => reason);
				const [, status, body] = REFUSED.exec(error?.message) ?? [];
				if (!body)
					return t.refused(code, httpStatus, promise);
				const answer = JSON.parse(body);
				assert.deepEqual([Number(status), answer.code], [httpStatus, code]);
				return Object.assign(error, answer);
			},
		}));
	return overs.get(t);
}

const borrowed = await Promise.all(SCENARIOS.map(async (name) => Object.entries(
	(await import(`./${name}.mjs`)).default).map(
	([title, work]) => [`${name} over it: ${title}`, (t) => work(over(t))])));

export default {
	async "it is really used"(t) {
		const { client } = over(t);
		assert.equal(client.getTransportMode(), "websocket");
		assert.equal(await client.utils.ping(), "pong");
		assert.equal(client.isWebSocketConnected(), true);
	},

	async "many requests share one"(t) {
		const o = over(t);
		const before = t.session.webSockets;
		const all = await Promise.all(Array.from({ length: 30 }, (_, i) =>
			/* wait: the commands sleep, so that they end in any order */
			o.execute(`sleep 0.0${i % 5}; echo ${i}`, { shell: `${t.shell}-${i % 7}` })));
		assert.deepEqual(all.map(({ stdout }) => stdout.trim()), all.map((_, i) => String(i)));
		assert.ok(t.session.webSockets <= before + 1, "and no more");
	},

	async "it is opened again when it was closed"(t) {
		const { client } = over(t);
		await client.utils.ping();
		client.disconnect();
		assert.equal(client.isWebSocketConnected(), false);
		assert.equal(await client.utils.ping(), "pong");
	},

	async "a stream that is left does not hold up the next"(t) {
		const o = over(t);
		const stream = await o.client.commands.executeStream("echo a; sleep 1000", t.shell);
		for await (const event of t.sdk.parseSSEStream(stream))
			if (event.type === "stdout")
				break;
		const next = await o.client.commands.executeStream("echo b", `${t.shell}-next`);
		assert.equal(types(await t.events(next)).at(-1), "complete");
	},

	async "every line of a stream is JSON, the first one too"(t) {
		const o = over(t);
		await t.says(`mkdir -p ${t.dir} && seq 9 > ${t.dir}/f`);
		for (const stream of [
			await o.client.commands.executeStream("echo a", t.shell),
			await o.client.files.readFileStream(`${t.dir}/f`, t.shell),
		]) {
			const lines = (await new Response(stream).text()).split("\n")
				.filter((line) => line.startsWith("data: "));
			assert.ok(lines.length >= 3);
			for (const line of lines)
				assert.equal(typeof JSON.parse(line.slice(6)).type, "string");
		}
	},

	async "who may not is told"(t) {
		t.needs("websocket");
		const client = t.clientOf(t.session, t.session.as("sl_nobody").webSocketOptions());
		await assert.rejects(client.utils.getVersion().then((version) => {
			assert.equal(version, "unknown"); /* the SDK's answer to any failure */
			throw new Error("refused");
		}));
		await assert.rejects(client.commands.execute("true", "x"), /WebSocket/);
	},

	...Object.fromEntries(borrowed.flat()),
};
