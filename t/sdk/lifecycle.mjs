/* lifecycle.mjs: tests sessions that sleep or are deleted while the SDK talks to them. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { Session } from "./service.mjs";
import { data, types } from "./trial.mjs";

async function other(t, work) {
	const session = await Session.create();
	try {
		await work(session, t.clientOf(session));
		assert.deepEqual(session.repeatable, []);
	} finally {
		await session.delete();
	}
}

/* Waits until the files are in /workspace. */
async function there(client, ...names) {
	for (const name of names)
		while (!(await client.files.exists(`/workspace/${name}`, "y")).exists)
			await pause(50); /* wait: polls; the judge has the limit */
}

export default {
	async "one that sleeps is woken by a call, and has its files"(t) {
		await other(t, async (session, client) => {
			await client.files.writeFile("/workspace/kept", "kept", "x");
			await session.sleep();
			assert.equal((await client.commands.execute("cat kept", "x")).stdout.trim(), "kept");
			await session.sleep();
			const events = await t.events(await client.commands.executeStream("cat kept", "x"));
			assert.equal(data(events, "stdout").trim(), "kept");
		});
	},

	async "its deletion ends streams with a last event"(t) {
		await other(t, async (session, client) => {
			const started = await client.processes.startProcess("echo begun; touch a; sleep 600", "x");
			const streams = [
				t.events(await client.commands.executeStream("echo begun; touch b; sleep 600", "x")),
				t.events(await client.processes.streamProcessLogs(started.processId)),
			];
			await there(client, "a", "b");
			await session.delete();
			for (const events of await Promise.all(streams)) {
				assert.equal(data(events, "stdout"), "begun\n");
				assert.match(types(events).at(-1), /^(complete|exit|error)$/);
			}
		});
	},

	async "its deletion ends a command with an error, once"(t) {
		await other(t, async (session, client) => {
			const running = client.commands.execute("touch a; sleep 600", "x");
			running.catch(() => {});
			await there(client, "a");
			await session.delete();
			await assert.rejects(running, (error) => error.httpStatus >= 400 && error.httpStatus !== 503);
		});
	},

	async "a deleted one is refused at once"(t) {
		const session = await Session.create();
		await session.delete();
		await assert.rejects(t.clientOf(session).commands.execute("true", "x"),
			(error) => error.httpStatus >= 400 && error.httpStatus < 500);
	},

	async "no answer so far was one that is sent again"(t) {
		assert.deepEqual(t.session.repeatable, []);
	},
};
