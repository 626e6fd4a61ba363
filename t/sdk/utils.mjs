/* utils.mjs: tests health, shells as objects, and refused requests. */
import assert from "node:assert/strict";
import { data, types } from "./trial.mjs";
import { UNDRIVEN } from "./versions.mjs";

/* The members of a SandboxClient that the scenarios use, and its transport. */
const DRIVEN = ["backup", "commands", "files", "git", "interpreter", "ports", "processes",
	"transport", "utils", "watch"];

const RESERVED = "__DISABLE_SESSION__";

export default {
	async "every client of this version is driven, or it is said why not"(t) {
		const others = Object.keys(t.client).filter((name) => !DRIVEN.includes(name));
		assert.deepEqual(others.filter((name) => !UNDRIVEN[name]), []);
	},

	async "what is not driven is refused, not misunderstood"(t) {
		for (const path of ["/api/desktop/start", "/rpc"]) {
			const answer = await t.session.fetch(new Request(`http://localhost${path}`,
				{ method: "POST", body: "{}" }), 3000);
			assert.equal(answer.status, 404, path);
		}
	},

	async "a ping is answered"(t) {
		assert.equal(await t.client.utils.ping(), "pong");
	},

	async "the version is told"(t) {
		assert.match(await t.client.utils.getVersion(), /^\d+\.\d+\.\d+/);
	},

	async "the commands that are there are listed"(t) {
		const commands = await t.client.utils.getCommands();
		for (const name of ["bash", "cat", "git", "ls", "python3"])
			assert.ok(commands.includes(name), name);
	},

	async "a shell is made with variables and a directory"(t) {
		await t.execute(`mkdir -p '${t.dir}/deep er'`, { shell: "looks" });
		const made = await t.client.utils.createSession(
			{ id: t.shell, env: { A: "it's ünïcode", B: "" }, cwd: `${t.dir}/deep er` });
		assert.equal(made.success, true);
		assert.equal(made.id, t.shell);
		assert.ok(made.message);
		assert.equal(await t.says('echo "$PWD|$A|$B|${B+set}"'), `${t.dir}/deep er|it's ünïcode||set`);
	},

	async "two shells have variables, directory and functions of their own"(t) {
		const [one, two] = [`${t.shell}-one`, `${t.shell}-two`];
		await t.client.utils.createSession({ id: one, env: { WHO: "one" } });
		await t.client.utils.createSession({ id: two, env: { WHO: "two" }, cwd: "/tmp" });
		await t.says("greet() { echo one; }; cd /usr", { shell: one });
		await t.says("greet() { echo two; }", { shell: two });
		assert.equal(await t.says("echo $WHO $(greet) $PWD", { shell: one }), "one one /usr");
		assert.equal(await t.says("echo $WHO $(greet) $PWD", { shell: two }), "two two /tmp");
	},

	async "a shell that is there is not made again"(t) {
		await t.client.utils.createSession({ id: t.shell });
		const error = await t.refused("SESSION_ALREADY_EXISTS", 409,
			t.client.utils.createSession({ id: t.shell }));
		assert.match(error.message, /already exists/); /* older versions look for these words */
		assert.equal(error.context.sessionId, t.shell);
	},

	async "of many who make a shell at once, one does"(t) {
		const all = await Promise.allSettled(Array.from({ length: 8 },
			() => t.client.utils.createSession({ id: t.shell })));
		assert.equal(all.filter(({ status }) => status === "fulfilled").length, 1);
		for (const { reason } of all.filter(({ status }) => status === "rejected"))
			assert.equal(reason.code, "SESSION_ALREADY_EXISTS");
	},

	async "any name is a name, and one is made up for who gives none"(t) {
		for (const id of ["user@example.com", "a/b c", "ünï 😀", "..", "x".repeat(100)]) {
			assert.equal((await t.client.utils.createSession({ id, cwd: "/tmp" })).id, id);
			assert.equal(await t.says("pwd", { shell: id }), "/tmp");
		}
		const { id } = await t.client.utils.createSession({ cwd: "/tmp" });
		assert.equal(await t.says("pwd", { shell: id }), "/tmp");
	},

	async "a shell that a command made is there, too"(t) {
		await t.says("true");
		await t.refused("SESSION_ALREADY_EXISTS", 409,
			t.client.utils.createSession({ id: t.shell }));
	},

	async "a shell whose directory is missing begins elsewhere"(t) {
		await t.client.utils.createSession({ id: t.shell, cwd: "/no/such/place" });
		assert.notEqual(await t.says("pwd"), "/no/such/place");
	},

	async "a name that means no shell cannot be taken"(t) {
		await t.refused("VALIDATION_FAILED", 400, t.client.utils.createSession({ id: RESERVED }));
	},

	async "without a name it is the default shell"(t) {
		await t.says(`export ${t.shell.replace("-", "_")}=1`, { shell: undefined });
		assert.equal(await t.says(`echo $${t.shell.replace("-", "_")}`, { shell: "default" }), "1");
	},

	async "shells are listed"(t) {
		await t.says("true");
		const { success, data: shells } = await t.client.utils.get("/api/session/list");
		assert.equal(success, true);
		assert.ok(shells.includes(t.shell), shells.join());
	},

	async "an empty name is refused"(t) {
		await t.refused("VALIDATION_FAILED", 400, t.execute("true", { shell: " " }));
	},

	async "a deleted shell forgets, and takes what it runs along"(t) {
		t.needs("utils.deleteSession");
		await t.says("export KEPT=1; cd /tmp; sleep 7654 &");
		await t.until("grep -qsz 7654 /proc/[0-9]*/cmdline");
		const gone = await t.client.utils.deleteSession(t.shell);
		assert.equal(gone.success, true);
		assert.equal(gone.sessionId, t.shell);
		await t.until("! grep -qsz 7654 /proc/[0-9]*/cmdline");
		assert.equal(await t.says("echo ${KEPT:-new} $PWD"), "new /workspace");
	},

	async "a command whose shell is deleted is told so"(t) {
		t.needs("utils.deleteSession");
		const running = t.execute(`touch ${t.shell}; sleep 600`);
		running.catch(() => {});
		await t.until(`test -e /workspace/${t.shell}`);
		await t.client.utils.deleteSession(t.shell);
		await t.refused("SESSION_DESTROYED", 410, running);
	},

	async "a stream whose shell is deleted ends"(t) {
		t.needs("utils.deleteSession");
		const stream = await t.client.commands.executeStream(
			`echo begun; touch ${t.shell}; sleep 600`, t.shell);
		const ended = t.events(stream);
		await t.until(`test -e /workspace/${t.shell}`);
		await t.client.utils.deleteSession(t.shell);
		const events = await ended;
		assert.equal(data(events, "stdout").trim(), "begun");
		assert.ok(["complete", "error"].includes(types(events).at(-1)), types(events).join());
	},

	async "an unknown shell cannot be deleted"(t) {
		t.needs("utils.deleteSession");
		const error = await t.refused("INTERNAL_ERROR", 500,
			t.client.utils.deleteSession("never-made"));
		assert.match(error.message, /not found/);
	},

	async "an unknown route is an error of the SDK's own shape"(t) {
		await t.refused("UNKNOWN_ERROR", 404, t.client.utils.get("/api/no-such-thing"));
	},

	async "a wrong key is refused, and no key"(t) {
		for (const key of ["sl_wrong", ""])
			await t.refused("UNAUTHORIZED", 401,
				t.clientOf(t.session.as(key)).commands.execute("true", "x"));
	},

	async "a session that nobody has is not found"(t) {
		const { session } = t;
		const stranger = Object.assign(session.as(), { headers: session.headers,
			base: session.base.replace(session.id, "a".repeat(20)) });
		await t.refused("SESSION_NOT_FOUND", 404, t.clientOf(stranger).utils.ping());
		await t.refused("SESSION_NOT_FOUND", 404,
			t.clientOf(stranger).commands.executeStream("true", "x"));
	},
};
