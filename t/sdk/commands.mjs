/* commands.mjs: tests commands, whole and as streams, and the shells they run in. */
import assert from "node:assert/strict";
import { data, types } from "./trial.mjs";

const NO_SHELL = "__DISABLE_SESSION__";

/* A command that succeeds while a process with `mark` in its command line lives. */
const lives = (mark) => `grep -qsz ${mark} /proc/[0-9]*/cmdline`;

/* wait: for an echo before the command hangs; the echo takes milliseconds */
const ENOUGH_MS = 5000;

export default {
	async "what it prints and how it ends comes back"(t) {
		const command = "echo out; echo err >&2; (exit 3)";
		const result = await t.execute(command);
		assert.deepEqual({ ...result, stdout: result.stdout.trim(), stderr: result.stderr.trim(),
			timestamp: "", duration: 0, executionId: "" }, { success: false, exitCode: 3,
			stdout: "out", stderr: "err", command, sessionId: t.shell, timestamp: "",
			duration: 0, executionId: "" });
		assert.ok(Date.parse(result.timestamp) > 0, result.timestamp);
	},

	async "one that fails or does not exist is an answer, no error"(t) {
		assert.equal((await t.execute("false")).exitCode, 1);
		const missing = await t.execute("no-such-command-anywhere");
		assert.equal(missing.exitCode, 127);
		assert.match(missing.stderr, /not found/);
		assert.equal((await t.execute("kill -9 $BASHPID & wait $!")).exitCode, 137);
	},

	async "a shell begins in /workspace"(t) {
		assert.equal(await t.says("pwd"), "/workspace");
	},

	async "directory, variables, functions, aliases and options persist"(t) {
		await t.says("cd /tmp; export EXPORTED=1; PLAIN=2; set -f");
		await t.says("twice() { echo $(($1 * 2)); }");
		await t.says("alias greet='echo hello'");
		assert.equal(await t.says("echo $PWD $EXPORTED $PLAIN $(twice 21) *"), "/tmp 1 2 42 *");
		assert.equal(await t.says("greet you"), "hello you");
		assert.equal(await t.says("printenv EXPORTED"), "1");
	},

	async "a syntax error costs the command, not the shell"(t) {
		await t.says("export KEPT=1");
		for (const broken of ["if then", "echo 'open", "cat <<EOF\nno end", ")"]) {
			const { exitCode, stderr } = await t.execute(broken);
			assert.ok(exitCode !== 0 || broken.startsWith("cat"), broken);
			assert.ok(stderr !== "" || broken.startsWith("cat"), broken);
		}
		assert.equal(await t.says("echo $KEPT"), "1");
	},

	async "nothing comes in: stdin is empty"(t) {
		assert.equal(await t.says("cat; read -r line || echo none"), "none");
	},

	async "quotes, lines, comments and here-documents arrive as written"(t) {
		assert.equal(await t.says("cat <<'EOF'\n$HOME \\ \"'` ünï 😀\nEOF"),
			"$HOME \\ \"'` ünï 😀");
		assert.equal(await t.says("echo a # b\necho c"), "a\nc");
		assert.equal(await t.says("printf '%s|' 'a b' \"c'd\" $'e\\tf'"), "a b|c'd|e\tf|");
	},

	async "bytes that are no text do not break the answer"(t) {
		const { stdout } = await t.execute("printf 'a\\377\\000b\\033[31mc'");
		assert.match(stdout, /^a.*b.*c/s);
	},

	async "a long command is one, with and without a shell"(t) {
		const command = `: ${"x".repeat(300000)}; echo long`;
		assert.equal(await t.says(command), "long");
		assert.equal(await t.says(command, { shell: NO_SHELL }), "long");
		const events = await t.events(await t.client.commands.executeStream(command, t.shell));
		assert.equal(data(events, "stdout"), "long\n");
	},

	async "three megabytes come back whole"(t) {
		const { stdout } = await t.execute("head -c 3000000 /dev/zero | tr '\\0' x");
		assert.equal(stdout.length, 3000000);
	},

	async "what is left in the background is not waited for"(t) {
		assert.equal(await t.says("sleep 4321 & echo started"), "started");
		await t.says("kill %1");
	},

	async "variables and directory of one call hold for that call"(t) {
		t.needs("env of a call");
		await t.says("export WHO=shell; cd /usr");
		assert.equal(await t.says("echo $WHO $NEW $PWD",
			{ env: { WHO: "call", NEW: "it's" }, cwd: "/tmp" }), "call it's /tmp");
		assert.equal(await t.says("echo $WHO ${NEW-unset} $PWD"), "shell unset /usr");
	},

	async "a directory that is not there fails the call"(t) {
		t.needs("env of a call");
		const { exitCode, stderr } = await t.execute("echo ran", { cwd: "/no/such/place" });
		assert.equal(exitCode, 1);
		assert.match(stderr, /Failed to change directory to/);
		assert.equal(await t.says("pwd"), "/workspace");
	},

	async "one shell runs them in turn, two shells at once"(t) {
		const log = `/workspace/${t.shell}.log`;
		const first = t.execute(`echo a >> ${log}; until [ -e ${log}.go ]; do sleep 0.05; done; echo b >> ${log}`);
		await t.until(`grep -q a ${log}`);
		const second = t.execute(`echo c >> ${log}`);
		await t.says(`touch ${log}.go`, { shell: `${t.shell}-other` });
		await Promise.all([first, second]);
		assert.equal(await t.says(`tr '\\n' ' ' < ${log}`), "a b c");
	},

	async "a shell that ends is told with its code; the next call has a new one"(t) {
		await t.says("export KEPT=1");
		const error = await t.refused("SESSION_TERMINATED", 410,
			t.execute("echo built; echo bad >&2; exit 42"));
		assert.equal(error.context.sessionId, t.shell);
		assert.equal(error.context.exitCode, 42);
		assert.equal(error.context.stdout, "built\n");
		assert.equal(error.context.stderr, "bad\n");
		assert.match(error.message, /shell exited/i); /* as upstream's tests */
		assert.equal(await t.says("echo ${KEPT:-new}"), "new");
	},

	async "a time limit ends the whole tree, and the shell keeps what it has"(t) {
		const mark = `98765.${t.cases}`;
		const ran = `/workspace/${t.shell}.ran`;
		await t.says("export KEPT=1; kept() { echo 2; }; cd /usr");
		await timesOut(t, `echo x >> ${ran}; sleep ${mark} & (setsid sleep ${mark} &); sleep ${mark}`);
		assert.equal(await t.says("echo $KEPT $(kept) $PWD"), "1 2 /usr");
		await t.until(`! ${lives(mark)}`);
		assert.equal(await t.says(`grep -c x ${ran}`), "1");
	},

	async "without a shell nothing persists"(t) {
		const alone = { shell: NO_SHELL };
		assert.equal(await t.says("cd /tmp; export LOST=1; pwd", alone), "/tmp");
		assert.equal(await t.says("echo $PWD ${LOST:-none}", alone), "/workspace none");
		assert.equal((await t.execute("exit 7", alone)).exitCode, 7);
	},

	async "without a shell a time limit is exit code 124"(t) {
		/* wait: the time limit ends this command on any machine */
		const { exitCode, stderr } = await t.execute("sleep 600", { shell: NO_SHELL, timeoutMs: 300 });
		assert.equal(exitCode, 124);
		assert.match(stderr, /Command timed out after 300ms/);
	},

	async "what is no command is refused"(t) {
		for (const wrong of [42, null, ["ls"], undefined])
			await t.refused("VALIDATION_FAILED", 400, t.execute(wrong));
	},

	/* ---- streams */

	async "a stream has a beginning, output in order and an end"(t) {
		const command = "echo one; echo two; echo bad >&2; exit 5";
		const events = await t.events(await t.client.commands.executeStream(command, t.shell));
		assert.equal(events[0].type, "start");
		assert.equal(events[0].command, command);
		assert.equal(data(events, "stdout"), "one\ntwo\n");
		assert.equal(data(events, "stderr"), "bad\n");
		assert.equal(events.at(-1).type, "complete");
		assert.equal(events.at(-1).exitCode, 5);
		assert.deepEqual(types(events).filter((type) => !/start|std(out|err)|complete/.test(type)), []);
		assert.ok(events.every((event) => Date.parse(event.timestamp) > 0));
	},

	async "a stream brings output while the command runs"(t) {
		const go = `/workspace/${t.shell}.go`;
		const stream = await t.client.commands.executeStream(
			`echo begun; until [ -e ${go} ]; do sleep 0.05; done; echo over`, t.shell);
		let seen = "";
		for await (const event of t.sdk.parseSSEStream(stream)) {
			if (event.type === "stdout" && seen === "") {
				assert.equal(event.data, "begun\n");
				await t.says(`touch ${go}`, { shell: "looks" });
			}
			seen += event.type === "stdout" ? event.data : "";
		}
		assert.equal(seen, "begun\nover\n");
	},

	async "a stream has its shell's directory, variables and functions, and changes none"(t) {
		await t.says("cd /usr; export WHO=me; greet() { echo hi; }");
		const events = await t.events(await t.client.commands.executeStream(
			"echo $PWD $WHO $(greet); cd /; export WHO=you", t.shell));
		assert.equal(data(events, "stdout"), "/usr me hi\n");
		assert.equal(await t.says("echo $PWD $WHO"), "/usr me");
	},

	async "a stream does not keep its shell"(t) {
		const stream = await t.client.commands.executeStream("echo begun; sleep 600", t.shell);
		assert.equal(await t.says("echo free"), "free");
		await stream.cancel();
	},

	async "a stream takes variables and directory of its own"(t) {
		t.needs("env of a call");
		const events = await t.events(await t.client.commands.executeStream("echo $WHO $PWD",
			t.shell, { env: { WHO: "call" }, cwd: "/tmp" }));
		assert.equal(data(events, "stdout"), "call /tmp\n");
	},

	async "a stream that cannot begin is refused, one whose time is over says so"(t) {
		await t.refused("VALIDATION_FAILED", 400, t.client.commands.executeStream(42, t.shell));
		t.needs("env of a call");
		const events = await t.events(await t.client.commands.executeStream(
			"echo begun; sleep 600", t.shell, { timeoutMs: ENOUGH_MS }));
		assert.equal(data(events, "stdout"), "begun\n");
		const error = events.find((event) => event.type === "error");
		assert.match(error.data, new RegExp(`Command timeout after ${ENOUGH_MS}ms`));
		assert.equal(error.error, error.data);
	},

	async "a stream never splits a character"(t) {
		const events = await t.events(await t.client.commands.executeStream(
			"for i in $(seq 30000); do printf 'x€😀'; done", t.shell));
		assert.equal(data(events, "stdout"), "x€😀".repeat(30000));
	},

	async "a stream of five megabytes is whole"(t) {
		const events = await t.events(await t.client.commands.executeStream(
			"seq -f '%09.0f' 500000", t.shell));
		const all = data(events, "stdout");
		assert.equal(all.length, 5000000);
		assert.ok(all.startsWith("000000001\n") && all.endsWith("000500000\n"));
		assert.equal(events.at(-1).exitCode, 0);
	},

	async "twenty streams at once are twenty"(t) {
		const all = await Promise.all(Array.from({ length: 20 }, async (_, i) => t.events(
			/* wait: each command sleeps, so that all run at once */
			await t.client.commands.executeStream(`sleep 0.2; echo ${i}`, `${t.shell}-${i % 5}`))));
		assert.deepEqual(all.map((events) => data(events, "stdout")),
			Array.from({ length: 20 }, (_, i) => `${i}\n`));
	},

	async "callbacks are called"(t) {
		const called = [];
		const client = t.clientOf(t.session, {
			onCommandComplete: (...what) => called.push(what),
			onError: (message) => called.push(message),
		});
		await client.commands.execute("echo done", t.shell);
		assert.deepEqual(called.map(([success, code, out]) => [success, code, out.trim()]),
			[[true, 0, "done"]]);
		await client.commands.execute(42, t.shell).catch(() => {});
		assert.equal(typeof called.at(-1), "string");
	},
};

/*
 * The command times out, and the SDK sends it once.  A version that repeats it
 * is stopped when it does: its second request never reaches the service.
 */
async function timesOut(t, command) {
	let sent = 0;
	const options = t.session.clientOptions(t.keyed);
	const { stub } = options;
	if (t.repeats)
		options.stub = { containerFetch(...request) {
			if (++sent > 1)
				throw new Error("repeated");
			return stub.containerFetch(...request);
		} };
	const client = new t.sdk.SandboxClient(options);
	const running = client.commands.execute(command, t.shell,
		...t.executeArguments({ timeoutMs: ENOUGH_MS }));
	if (t.repeats) {
		await assert.rejects(running, /repeated/);
		return;
	}
	const error = await t.refused("COMMAND_EXECUTION_ERROR", 500, running);
	assert.match(error.message, new RegExp(`Command timeout after ${ENOUGH_MS}ms`));
	assert.equal(error.context.command, command);
}
