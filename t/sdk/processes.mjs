/* processes.mjs: tests commands in the background, which all shells see. */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { data, PATIENCE_MS, types } from "./trial.mjs";

const lives = (mark) => `grep -qsz ${mark} /proc/[0-9]*/cmdline`;

/* Waits until the process has ended; returns it. */
async function ended(t, id) {
	const end = Date.now() + PATIENCE_MS;
	for (;;) {
		const { process } = await t.client.processes.getProcess(id);
		if (process.status !== "running" && process.status !== "starting")
			return process;
		assert.ok(Date.now() < end, `${id} does not end`);
		await pause(50); /* wait: polls; the limit is PATIENCE_MS */
	}
}

async function start(t, command, options) {
	return (await t.client.processes.startProcess(command, t.shell, options)).processId;
}

export default {
	async "one is started, seen, and ends with its output kept"(t) {
		const { processes } = t.client;
		const go = `/workspace/${t.shell}.go`;
		const command = `echo out; echo err >&2; until [ -e ${go} ]; do sleep 0.05; done; echo over`;
		const started = await processes.startProcess(command, t.shell);
		assert.equal(started.success, true);
		assert.equal(started.command, command);
		assert.match(started.processId, /^proc_\d+_[a-z0-9]+$/);
		assert.ok(started.pid > 0);
		const { process } = await processes.getProcess(started.processId);
		assert.deepEqual([process.id, process.command, process.status],
			[started.processId, command, "running"]);
		assert.ok(Date.parse(process.startTime) > 0);
		assert.deepEqual([process.exitCode, process.endTime], [undefined, undefined]);
		await t.says(`touch ${go}`);
		const over = await ended(t, started.processId);
		assert.deepEqual([over.status, over.exitCode], ["completed", 0]);
		assert.ok(Date.parse(over.endTime) >= Date.parse(over.startTime));
		const logs = await processes.getProcessLogs(started.processId);
		assert.deepEqual([logs.stdout, logs.stderr, logs.processId],
			["out\nover\n", "err\n", started.processId]);
	},

	async "its name can be chosen"(t) {
		assert.equal(await start(t, "true", { processId: t.shell }), t.shell);
		assert.equal((await ended(t, t.shell)).id, t.shell);
	},

	async "one that fails says so"(t) {
		const process = await ended(t, await start(t, "exit 3"));
		assert.deepEqual([process.status, process.exitCode], ["failed", 3]);
		const missing = await ended(t, await start(t, "no-such-command-anywhere"));
		assert.deepEqual([missing.status, missing.exitCode], ["failed", 127]);
	},

	async "all shells see all of them"(t) {
		const [one, two] = await Promise.all([start(t, "sleep 600"), start(t, "sleep 600")]);
		const { processes, success } = await t.client.processes.listProcesses();
		assert.equal(success, true);
		for (const id of [one, two]) {
			const listed = processes.find((process) => process.id === id);
			assert.deepEqual([listed?.status, listed?.command], ["running", "sleep 600"]);
			await t.client.processes.killProcess(id);
		}
	},

	async "it has its shell's directory, variables and functions, and does not keep it"(t) {
		await t.says("cd /usr; export WHO=me; greet() { echo hi; }");
		const id = await start(t, "echo $PWD $WHO $(greet); cd /; export WHO=you; sleep 600");
		await t.logged(id);
		assert.equal(await t.says("echo $PWD $WHO"), "/usr me");
		await t.client.processes.killProcess(id);
		assert.equal((await t.client.processes.getProcessLogs(id)).stdout, "/usr me hi\n");
	},

	async "it takes variables and directory of its own"(t) {
		t.needs("env of a call");
		const id = await start(t, "echo $WHO $PWD", { env: { WHO: "it's me" }, cwd: "/tmp" });
		await ended(t, id);
		assert.equal((await t.client.processes.getProcessLogs(id)).stdout, "it's me /tmp\n");
	},

	async "a long command is one"(t) {
		const id = await start(t, `: ${"x".repeat(300000)}; echo long`);
		assert.equal((await ended(t, id)).status, "completed");
		assert.equal((await t.client.processes.getProcessLogs(id)).stdout, "long\n");
	},

	async "a name is not taken twice at once"(t) {
		await start(t, "sleep 600", { processId: t.shell });
		await assert.rejects(start(t, "true", { processId: t.shell }), { httpStatus: 409 });
		await t.client.processes.killProcess(t.shell);
		await start(t, "exit 5", { processId: t.shell });
		assert.equal((await ended(t, t.shell)).exitCode, 5);
	},

	async "a time limit ends it"(t) {
		t.needs("env of a call");
		/* wait: the time limit ends this process on any machine */
		const process = await ended(t, await start(t, "sleep 600", { timeoutMs: 300 }));
		assert.notEqual(process.status, "completed");
		assert.notEqual(process.exitCode, 0);
	},

	async "a kill ends the whole tree"(t) {
		const mark = `87654.${t.cases}`;
		const id = await start(t, `sleep ${mark} & (sleep ${mark} & sleep ${mark}) & (setsid sleep ${mark} &); wait`);
		await t.until(lives(mark));
		const killed = await t.client.processes.killProcess(id);
		assert.deepEqual([killed.success, killed.processId], [true, id]);
		const { process } = await t.client.processes.getProcess(id);
		assert.deepEqual([process.status, process.exitCode], ["killed", 143]);
		await t.until(`! ${lives(mark)}`);
	},

	async "a kill waits, then insists"(t) {
		const id = await start(t, `trap '' TERM; touch ${t.shell}; while :; do sleep 0.1; done`);
		await t.until(`test -e /workspace/${t.shell}`);
		await t.client.processes.killProcess(id);
		const { process } = await t.client.processes.getProcess(id);
		assert.deepEqual([process.status, process.exitCode], ["killed", 137]);
	},

	async "all that run are killed at once"(t) {
		await t.client.processes.killAllProcesses();
		const ids = await Promise.all([1, 2, 3].map(() => start(t, "sleep 600")));
		const over = await start(t, "true");
		await ended(t, over);
		const all = await t.client.processes.killAllProcesses();
		assert.deepEqual([all.success, all.cleanedCount], [true, 3]);
		for (const id of ids)
			assert.equal((await t.client.processes.getProcess(id)).process.status, "killed");
		assert.equal((await t.client.processes.getProcess(over)).process.status, "completed");
		assert.equal((await t.client.processes.killAllProcesses()).cleanedCount, 0);
	},

	async "what is not there, or is over, is an error of its own class"(t) {
		const { processes } = t.client;
		for (const ask of ["getProcess", "killProcess", "getProcessLogs", "streamProcessLogs"]) {
			const error = await t.refused("PROCESS_NOT_FOUND", 404, processes[ask]("never-was"));
			assert.equal(error.context.processId, "never-was");
		}
		const id = await start(t, "true");
		await ended(t, id);
		await t.refused("COMMAND_NOT_FOUND", 404, processes.killProcess(id));
	},

	async "what is no command is refused"(t) {
		for (const empty of ["", "  "])
			await t.refused("INVALID_COMMAND", 400, t.client.processes.startProcess(empty, t.shell));
		await t.refused("VALIDATION_FAILED", 400, t.client.processes.startProcess(42, t.shell));
	},

	async "a command can be sent to the background"(t) {
		const started = await t.client.commands.post("/api/execute",
			{ command: "echo away", sessionId: t.shell, background: true });
		assert.deepEqual([started.success, started.command], [true, "echo away"]);
		assert.equal((await ended(t, started.processId)).exitCode, 0);
	},

	async "a list can be narrowed, and what is over forgotten"(t) {
		const { processes } = t.client;
		const runs = await start(t, "sleep 600");
		const over = await start(t, "true");
		await ended(t, over);
		const listed = async (query) => (await processes.get(`/api/process/list${query}`))
			.processes.map((process) => process.id);
		assert.deepEqual(await listed("?status=running"), [runs]);
		assert.ok((await listed("?status=completed")).includes(over));
		const { success, cleanedCount } = await processes.post("/api/process/cleanup", {});
		assert.ok(success && cleanedCount > 0);
		assert.deepEqual(await listed(""), [runs]);
		await t.refused("PROCESS_NOT_FOUND", 404, processes.getProcess(over));
		await processes.killProcess(runs);
	},

	/* ---- streams */

	async "its stream begins with what was, goes on with what is, and ends"(t) {
		const go = `/workspace/${t.shell}.go`;
		const id = await start(t, `echo was; echo bad >&2; until [ -e ${go} ]; do sleep 0.05; done; echo is; exit 4`);
		const stream = await t.client.processes.streamProcessLogs(id);
		const events = [];
		for await (const event of t.sdk.parseSSEStream(stream)) {
			events.push(event);
			if (event.type === "stdout" && event.data.includes("was"))
				await t.says(`touch ${go}`);
		}
		assert.equal(events[0].type, "process_info");
		assert.deepEqual([events[0].processId, events[0].status], [id, "running"]);
		assert.deepEqual([data(events, "stdout"), data(events, "stderr")], ["was\nis\n", "bad\n"]);
		assert.deepEqual([events.at(-1).type, events.at(-1).exitCode, events.at(-1).processId], ["exit", 4, id]);
		assert.ok(events.every((event) => event.processId === id && Date.parse(event.timestamp) > 0));
	},

	async "the stream of one that is over is whole"(t) {
		const id = await start(t, "seq 100000; echo bad >&2");
		await ended(t, id);
		const events = await t.events(await t.client.processes.streamProcessLogs(id));
		assert.equal(data(events, "stdout").length, 588895);
		assert.equal(data(events, "stderr"), "bad\n");
		assert.deepEqual([types(events)[0], types(events).at(-1)], ["process_info", "exit"]);
		assert.match(events.at(-1).data, /Process completed with exit code 0/);
	},

	async "two readers read the same, and one that leaves disturbs nobody"(t) {
		const go = `/workspace/${t.shell}.go`;
		const id = await start(t, `echo 'x€😀'; until [ -e ${go} ]; do sleep 0.05; done; echo over`);
		const [one, two, leaves] = await Promise.all([1, 2, 3].map(
			() => t.client.processes.streamProcessLogs(id)));
		await leaves.cancel();
		await t.says(`touch ${go}`);
		for (const events of await Promise.all([t.events(one), t.events(two)]))
			assert.equal(data(events, "stdout"), "x€😀\nover\n");
	},

	async "bytes that are no text do not break its logs"(t) {
		const id = await start(t, "printf 'a\\377\\000b\\033c'");
		await ended(t, id);
		assert.match((await t.client.processes.getProcessLogs(id)).stdout, /^a.*b.*c/s);
	},
};
