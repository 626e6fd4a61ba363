/* sandbox.mjs: tests the class that users of the SDK use, in front of sessions. */
import assert from "node:assert/strict";
import { data, types } from "./trial.mjs";

const HOST = "preview.example.com";
const portOf = (t) => 5000 + t.cases;
const serve = (port) => `cd /tmp && echo 'served on ${port}' > ${port}.html && exec python3 -m http.server ${port} --bind 127.0.0.1`;

export default {
	async "exec keeps the state of a default shell"(t) {
		const box = t.sandbox(t.shell);
		await box.exec("cd /tmp; export WHO=me");
		const result = await box.exec("echo $PWD $WHO; echo bad >&2; (exit 3)");
		assert.deepEqual([result.stdout.trim(), result.stderr.trim(), result.exitCode, result.success],
			["/tmp me", "bad", 3, false]);
		assert.equal(result.sessionId, `sandbox-${t.shell}`);
	},

	async "another object in front of the same shell finds it"(t) {
		await t.sandbox(t.shell).exec("export WHO=me");
		t.namespace = undefined; /* as after a restart of the worker */
		assert.equal((await t.sandbox(t.shell).exec("echo $WHO")).stdout.trim(), "me");
	},

	async "first calls at the same time share the shell"(t) {
		const box = t.sandbox(t.shell);
		const all = await Promise.all(Array.from({ length: 5 }, (_, i) => box.exec(`echo ${i}`)));
		assert.deepEqual(all.map((result) => result.stdout.trim()), ["0", "1", "2", "3", "4"]);
		assert.ok(all.every((result) => result.sessionId === `sandbox-${t.shell}`));
	},

	async "exec with a callback streams"(t) {
		const seen = [];
		const done = [];
		const result = await t.sandbox(t.shell).exec("echo one; echo two >&2; exit 4", {
			stream: true, onOutput: (...what) => seen.push(what), onComplete: (r) => done.push(r.exitCode) });
		assert.deepEqual([result.stdout, result.stderr, result.exitCode], ["one\n", "two\n", 4]);
		assert.deepEqual(seen.sort(), [["stderr", "two\n"], ["stdout", "one\n"]]);
		assert.deepEqual(done, [4]);
	},

	async "execStream is a stream of events"(t) {
		const events = await t.events(await t.sandbox(t.shell).execStream("echo out; exit 2"));
		assert.deepEqual([types(events)[0], data(events, "stdout"), events.at(-1).exitCode],
			["start", "out\n", 2]);
	},

	async "variables are set before the shell is made, and after"(t) {
		const box = t.sandbox(t.shell);
		await box.setEnvVars({ EARLY: "it's early" });
		assert.equal((await box.exec('echo "$EARLY"')).stdout.trim(), "it's early");
		await box.setEnvVars({ LATE: "$(late) 'ü'" });
		assert.equal((await box.exec('echo "$EARLY|$LATE"')).stdout.trim(), "it's early|$(late) 'ü'");
	},

	async "shells of one's own are isolated, but share files"(t) {
		const box = t.sandbox(t.shell);
		const [one, two] = await Promise.all(["one", "two"].map((name) => box.createSession(
			{ id: `${t.shell}-${name}`, env: { WHO: name }, cwd: "/tmp" })));
		await one.exec("cd /usr");
		await one.writeFile(`${t.dir}/shared`, "by one");
		assert.equal((await two.exec("echo $WHO $PWD")).stdout.trim(), "two /tmp");
		assert.equal((await two.readFile(`${t.dir}/shared`)).content, "by one");
		assert.equal((await (await box.getSession(one.id)).exec("echo $WHO $PWD")).stdout.trim(), "one /usr");
		await two.setEnvVars({ WHO: "changed" });
		assert.equal((await two.exec("echo $WHO")).stdout.trim(), "changed");
		if (!box.deleteSession)
			return;
		assert.equal((await box.deleteSession(two.id)).success, true);
		await assert.rejects(box.deleteSession(`sandbox-${t.shell}`).then(
			() => box.exec("true")).then(() => box.deleteSession(`sandbox-${t.shell}`)));
	},

	async "a call has a time limit and variables"(t) {
		t.needs("env of a call");
		const box = t.sandbox(t.shell);
		assert.equal((await box.exec("echo $WHO $PWD", { env: { WHO: "me" }, cwd: "/tmp" })).stdout.trim(),
			"me /tmp");
		if (!t.repeats)
			/* wait: the time limit ends this command on any machine */
			await t.refused("COMMAND_EXECUTION_ERROR", 500, box.exec("sleep 600", { timeout: 300 }));
		assert.equal((await box.exec("echo ${WHO:-none} $PWD")).stdout.trim(), "none /workspace");
	},

	async "a shell's commands have its time limit"(t) {
		t.needs("limits of a shell");
		const shell = await t.sandbox(t.shell).createSession({ id: t.shell, commandTimeoutMs: 3000 });
		await shell.exec("export KEPT=1");
		await t.refused("COMMAND_EXECUTION_ERROR", 500, shell.exec("sleep 600"));
		assert.equal((await shell.exec("echo $KEPT")).stdout.trim(), "1");
	},

	async "without a default shell nothing persists"(t) {
		t.needs("no shell");
		t.sandbox(t.shell);
		const box = t.sdk.getSandbox(t.namespace, t.shell, { enableDefaultSession: false });
		await box.setEnvVars({ WHO: "me" });
		await box.exec("cd /tmp; export LOST=1");
		assert.equal((await box.exec("echo $PWD $WHO ${LOST:-none}")).stdout.trim(), "/workspace me none");
		await box.mkdir(t.dir);
		await box.writeFile(`${t.shell}/near`, "x");
		assert.equal((await box.exists(`${t.dir}/near`)).exists, true);
		assert.equal((await box.listFiles(t.shell)).count, 1);
		const process = await box.startProcess("echo $WHO");
		assert.equal((await process.waitForExit()).exitCode, 0);
		assert.equal((await process.getLogs()).stdout, "me\n");
		const events = await t.events(await box.execStream("echo $PWD"));
		assert.equal(data(events, "stdout"), "/workspace\n");
	},

	async "files go through it"(t) {
		const box = t.sandbox(t.shell);
		await box.mkdir(`${t.dir}/a/b`, { recursive: true });
		await box.writeFile(`${t.dir}/a/x.txt`, "text ü");
		assert.equal((await box.readFile(`${t.dir}/a/x.txt`)).content, "text ü");
		const { content } = await t.sdk.collectFile(await box.readFileStream(`${t.dir}/a/x.txt`));
		assert.equal(content, "text ü");
		await box.renameFile(`${t.dir}/a/x.txt`, `${t.dir}/a/y.txt`);
		await box.moveFile(`${t.dir}/a/y.txt`, `${t.dir}/a/b/y.txt`);
		assert.deepEqual((await box.listFiles(`${t.dir}/a`, { recursive: true })).files
			.map((file) => file.relativePath).sort(), ["b", "b/y.txt"]);
		await box.deleteFile(`${t.dir}/a/b/y.txt`);
		assert.equal((await box.exists(`${t.dir}/a/b/y.txt`)).exists, false);
		await t.refused("FILE_NOT_FOUND", 404, box.readFile(`${t.dir}/a/x.txt`));
	},

	async "processes go through it"(t) {
		const box = t.sandbox(t.shell);
		const process = await box.startProcess("echo begun; sleep 600", { processId: t.shell });
		await t.logged(t.shell);
		assert.equal(await process.getStatus(), "running");
		assert.ok((await box.listProcesses()).some((one) => one.id === t.shell));
		const found = await box.getProcess(t.shell);
		assert.deepEqual([found.command, found.startTime instanceof Date], ["echo begun; sleep 600", true]);
		await process.kill();
		assert.equal(await process.getStatus(), "killed");
		assert.equal((await box.getProcessLogs(t.shell)).stdout, "begun\n");
		const events = await t.events(await box.streamProcessLogs(t.shell));
		assert.equal(types(events).at(-1), "exit");
		assert.equal(typeof await box.killAllProcesses(), "number");
	},

	async "a process is waited for: what it logs, its port, its end"(t) {
		t.needs("waiting");
		const box = t.sandbox(t.shell);
		const port = portOf(t);
		const server = await box.startProcess(`echo 'ready to serve'; ${serve(port)}`);
		assert.equal((await server.waitForLog("ready")).line, "ready to serve");
		assert.equal((await server.waitForLog(/to (serve)/)).match[1], "serve");
		await server.waitForPort(port, { path: `/${port}.html`, status: 200 });
		await server.waitForPort(port, { mode: "tcp" });
		await server.kill();
		/* wait: the process sleeps, and then ends on any machine */
		const short = await box.startProcess("sleep 0.2; exit 7");
		assert.equal((await short.waitForExit()).exitCode, 7);
		for (const waits of [(p) => p.waitForLog("never"), (p) => p.waitForPort(port + 100)]) {
			/* wait: as above */
			const ends = await box.startProcess("sleep 0.2; exit 8");
			await assert.rejects(waits(ends), { name: "ProcessExitedBeforeReadyError", exitCode: 8 });
		}
		const long = await box.startProcess("sleep 600");
		await assert.rejects(long.waitForLog("never", 300), { name: "ProcessReadyTimeoutError" });
		/* wait: the process never listens on that port */
		await assert.rejects(long.waitForPort(port + 100, { timeout: 300 }), { name: "ProcessReadyTimeoutError" });
		await long.kill();
	},

	async "a process's callbacks are called"(t) {
		t.needs("waiting");
		const seen = [];
		const code = await new Promise((onExit, onError) => {
			t.sandbox(t.shell).startProcess("echo out; echo err >&2; exit 9",
				{ onOutput: (...what) => seen.push(what.join(" ")), onExit, onError }).catch(onError);
		});
		assert.deepEqual([code, seen.sort()], [9, ["stderr err\n", "stdout out\n"]]);
	},

	async "a port is exposed, listed, reached through the SDK's proxy, and closed"(t) {
		const box = t.sandbox(t.shell);
		const port = portOf(t);
		const process = await box.startProcess(serve(port));
		await t.until(`curl -fs 127.0.0.1:${port}`);
		if (t.lacks.includes("ports.exposePort"))
			await t.session.expose(port); /* this version does not tell its container */
		const { url } = await box.exposePort(port, { hostname: HOST, name: "web" });
		assert.deepEqual((await box.getExposedPorts(HOST)).map((one) => [one.url, one.port, one.status]),
			[[url, port, "active"]]);
		const env = { Sandbox: t.namespace };
		const ask = async (link) => {
			const answer = await t.sdk.proxyToSandbox(new Request(new URL(`${port}.html`, link)), env);
			return [answer.status, await answer.text()];
		};
		assert.deepEqual(await ask(url), [200, `served on ${port}\n`]);
		const forged = url.replace(/-[a-z0-9_-]{16}\./, `-${"x".repeat(16)}.`);
		assert.equal((await ask(forged))[0], 404);
		const straight = await box.containerFetch(new Request(`http://localhost/${port}.html`), port);
		assert.equal(await straight.text(), `served on ${port}\n`);
		await box.unexposePort(port);
		assert.deepEqual(await box.getExposedPorts(HOST), []);
		assert.equal((await ask(url))[0], 404);
		await process.kill();
	},

	async "a repository is cloned through it"(t) {
		const box = t.sandbox(t.shell);
		await box.exec(`git init -q -b main /tmp/${t.shell} && cd /tmp/${t.shell} && echo x > file &&
			git add file && git -c user.name=a -c user.email=a@example.com commit -qm one; cd /workspace`);
		const done = await box.gitCheckout(`file:///tmp/${t.shell}`, { targetDir: t.dir });
		assert.deepEqual([done.success, done.branch, done.targetDir], [true, "main", t.dir]);
		assert.equal((await box.readFile(`${t.dir}/file`)).content, "x\n");
	},

	async "it can be destroyed"(t) {
		const box = t.sandbox(t.shell);
		await box.exec("true");
		await box.destroy();
	},
};
