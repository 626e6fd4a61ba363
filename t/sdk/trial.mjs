/*
 * trial.mjs: one version of the SDK in front of one session, with the helpers
 * that the scenarios use.
 */
import assert from "node:assert/strict";
import { setTimeout as pause } from "node:timers/promises";
import { Namespace } from "./platform.mjs";
import { errorName, VERSIONS } from "./versions.mjs";

export const PATIENCE_MS = 120000; /* wait: against hanging, never a measure */

/* Thrown where a version does not have the feature to be judged. */
export class Lacks extends Error {}

const lookUp = (object, path) => path.split(".").reduce((o, name) => o?.[name], object);

let heavy = Promise.resolve();

export class Trial {
	constructor(version, sdk, session) {
		Object.assign(this, VERSIONS[version], { version, sdk, session });
		this.client = this.clientOf(session);
		this.cases = 0;
	}

	/* Gives each case its own shell and directory, which are not made yet. */
	begin() {
		this.shell = `case-${++this.cases}`;
		this.dir = `/workspace/${this.shell}`;
	}

	clientOf(session, more = {}) {
		return new this.sdk.SandboxClient({ ...session.clientOptions(this.keyed), ...more });
	}

	/* The high-level class, as the SDK's own entry point makes it. */
	sandbox(name) {
		this.namespace ??= new Namespace(this.sdk.Sandbox, this.session);
		return this.sdk.getSandbox(this.namespace, name);
	}

	needs(thing) {
		const lacks = this.lacks.includes(thing);
		if (thing.includes("."))
			assert.equal(typeof lookUp(this.client, thing), lacks ? "undefined" : "function", thing);
		if (lacks)
			throw new Lacks(thing);
	}

	/* ---- commands */

	/*
	 * Runs a command in this case's shell, or in the one named; undefined
	 * is the default shell.
	 */
	execute(command, options = {}) {
		const { shell, ...rest } = { shell: this.shell, ...options };
		return this.client.commands.execute(command, shell, ...this.executeArguments(rest));
	}

	/* Runs a command that must succeed; returns its output. */
	async says(command, options) {
		const { exitCode, stdout, stderr } = await this.execute(command, options);
		assert.equal(exitCode, 0, `${command}: ${stderr}`);
		return stdout.trim();
	}

	/* Waits until a command inside the session succeeds. */
	async until(condition) {
		const end = Date.now() + PATIENCE_MS;
		while ((await this.execute(condition, { shell: "looks" })).exitCode !== 0) {
			assert.ok(Date.now() < end, `never came true: ${condition}`);
			await pause(50); /* wait: polls; the limit is PATIENCE_MS */
		}
	}

	/* Waits until a process has written something, which it does at once. */
	async logged(id) {
		while ((await this.client.processes.getProcessLogs(id)).stdout === "")
			await pause(50); /* wait: polls; the judge has the limit */
	}

	/* ---- streams */

	async events(stream) {
		const all = [];
		for await (const event of this.sdk.parseSSEStream(stream))
			all.push(event);
		return all;
	}

	/* ---- errors */

	/*
	 * Checks that the promise is rejected with the class that the SDK has
	 * for this code.
	 */
	async refused(code, httpStatus, promise) {
		const error = await promise.then(
			(value) => assert.fail(`no ${code}, but ${JSON.stringify(value)?.slice(0, 300)}`),
			(reason) => reason);
		assert.deepEqual(
			{ name: error.name, code: error.code, httpStatus: error.httpStatus },
			{ name: errorName(this.version, code), code, httpStatus },
			`${error.message} ${JSON.stringify(error.errorResponse)}`);
		assert.ok(error.message, `${code} has a message`);
		assert.ok(!Number.isNaN(Date.parse(error.timestamp)), `timestamp: ${error.timestamp}`);
		return error;
	}

	/* ---- memory: only one version at a time runs a case that needs much */

	async alone(work) {
		const before = heavy;
		let leave;
		heavy = new Promise((resolve) => { leave = resolve; });
		await before;
		try {
			return await work();
		} finally {
			leave();
		}
	}
}

/* Joins the data of a stream's events of one type. */
export function data(events, type) {
	return events.filter((event) => event.type === type).map((event) => event.data).join("");
}

export const types = (events) => events.map((event) => event.type);
