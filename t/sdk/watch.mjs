/* watch.mjs: tests changes of files, reported as they happen or checked later. */
import assert from "node:assert/strict";

/* Returns the events up to `last`; calls `act` once the watch has begun. */
async function seen(t, stream, act, last) {
	const events = [];
	for await (const event of t.sdk.parseSSEStream(stream)) {
		events.push(event);
		if (event.type === "watching")
			await act();
		if (last(event))
			return events;
	}
	return events;
}

const is = (eventType, path) => (event) => event.eventType === eventType && event.path === path;

export default {
	async "every change of a tree is told"(t) {
		t.needs("watch.watch");
		await t.says(`mkdir ${t.dir}`);
		const stream = await t.client.watch.watch({ path: t.dir, sessionId: t.shell });
		const events = await seen(t, stream,
			() => t.says(`cd ${t.dir} && mkdir -p a/b && echo 1 > a/b/f && mv a/b/f g && rm g`),
			is("delete", `${t.dir}/g`));
		assert.deepEqual([events[0].type, events[0].path], ["watching", t.dir]);
		assert.match(events[0].watchId, /^watch-/);
		assert.ok(events.some(is("create", `${t.dir}/a`)));
		assert.ok(events.filter((event) => event.type === "event")
			.every((event) => !Number.isNaN(Date.parse(event.timestamp))));
		assert.equal(events.find(is("create", `${t.dir}/a`)).isDirectory, true);
	},

	async "it watches by the time the promise is kept"(t) {
		t.needs("watch.watch");
		await t.says(`mkdir ${t.dir}`);
		const stream = await t.client.watch.watch({ path: t.dir });
		await t.client.files.writeFile(`${t.dir}/f`, "one", t.shell);
		await t.client.files.writeFile(`${t.dir}/f`, "two", t.shell);
		const events = await seen(t, stream, async () => {}, is("modify", `${t.dir}/f`));
		assert.deepEqual(events.map((event) => event.eventType), [undefined, "create", "modify"]);
	},

	async "patterns choose what is told"(t) {
		t.needs("watch.watch");
		await t.says(`mkdir -p ${t.dir}/src ${t.dir}/node_modules`);
		const made = `touch ${["node_modules/x.ts", "src/a.ts", "src/b.js", "end.ts"]
			.map((name) => `${t.dir}/${name}`).join(" ")}`;
		const told = async (more) => (await seen(t, await t.client.watch.watch({ path: t.dir, ...more }),
			() => t.says(`rm -f ${t.dir}/*/* ${t.dir}/end.ts; ${made}`), is("create", `${t.dir}/end.ts`)))
			.filter((event) => event.eventType === "create")
			.map((event) => event.path.slice(t.dir.length + 1));
		assert.deepEqual(await told({ include: ["*.ts"] }), ["src/a.ts", "end.ts"]);
		assert.deepEqual(await told({ exclude: ["src/**"] }), ["node_modules/x.ts", "end.ts"]);
		assert.deepEqual(await told({ recursive: false }), ["end.ts"]);
	},

	async "a watch ends with what it watched"(t) {
		t.needs("watch.watch");
		await t.says(`mkdir ${t.dir}`);
		const events = await seen(t, await t.client.watch.watch({ path: t.dir }),
			() => t.says(`rmdir ${t.dir}`), () => false);
		assert.equal(events.at(-1).type, "stopped");
		assert.ok(events.at(-1).reason);
	},

	async "what cannot be watched is refused"(t) {
		t.needs("watch.watch");
		await t.refused("FILE_NOT_FOUND", 404, t.client.watch.watch({ path: `${t.dir}/none` }));
		await t.refused("PERMISSION_DENIED", 403, t.client.watch.watch({ path: "/etc" }));
		await t.refused("VALIDATION_FAILED", 400,
			t.client.watch.watch({ path: "/workspace", include: ["{a,b}"] }));
		await t.refused("VALIDATION_FAILED", 400,
			t.client.watch.watch({ path: "/workspace", include: ["a"], exclude: ["b"] }));
	},

	async "whether something changed can be asked later"(t) {
		t.needs("watch.checkChanges");
		await t.says(`mkdir ${t.dir}`);
		const check = (since, more) => t.client.watch.checkChanges({ path: t.dir, since, ...more });
		const first = await check();
		assert.deepEqual([first.success, first.status], [true, "unchanged"]);
		assert.equal((await check(first.version)).status, "unchanged");
		await t.says(`mkdir -p ${t.dir}/a/b && touch ${t.dir}/a/b/f`);
		const second = await check(first.version);
		assert.deepEqual([second.status, (await check(second.version)).status],
			["changed", "unchanged"]);
		const other = await check(second.version, { include: ["*.ts"] });
		assert.deepEqual([other.status, other.reason], ["resync", "expired"]);
		const old = await check("watch-1-1600000000000:3");
		assert.deepEqual([old.status, old.reason], ["resync", "restarted"]);
		assert.equal((await check(old.version)).status, "unchanged");
		await t.refused("VALIDATION_FAILED", 400, check("nonsense"));
	},

	async "the class that users meet watches too"(t) {
		t.needs("watch.watch");
		const box = t.sandbox(t.shell);
		await box.mkdir(t.dir);
		const stream = await box.watch(t.dir, { include: ["*.txt"] });
		await box.writeFile(`${t.dir}/a.md`, "no");
		await box.writeFile(`${t.dir}/a.txt`, "yes");
		const events = await seen(t, stream, async () => {}, is("create", `${t.dir}/a.txt`));
		assert.deepEqual(events.map((event) => event.type), ["watching", "event"]);
		const shell = await box.createSession({ id: `${t.shell}-own`, cwd: t.dir });
		await (await shell.watch(".")).cancel();
	},

	async "and asks later"(t) {
		t.needs("watch.checkChanges");
		const box = t.sandbox(t.shell);
		await box.mkdir(t.dir);
		const { version } = await box.checkChanges(t.dir);
		await box.writeFile(`${t.dir}/f`, "x");
		assert.equal((await box.checkChanges(t.dir, { since: version })).status, "changed");
	},
};
