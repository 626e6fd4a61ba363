/* interpreter.mjs: tests code contexts, and code that runs in them. */
import assert from "node:assert/strict";

/*
 * Runs code; returns what the client's callbacks got.  Calls `seen` after each
 * stdout event.
 */
async function runs(t, context, code, { language, timeoutMs, seen = () => {} } = {}) {
	const got = { stdout: "", stderr: "", results: [], error: undefined };
	await t.client.interpreter.runCodeStream(context.id, code, language, {
		onStdout: ({ text }) => { got.stdout += text; return seen(got); },
		onStderr: ({ text }) => { got.stderr += text; },
		onResult: (result) => { got.results.push(result); },
		onError: (error) => { got.error = error; },
	}, timeoutMs);
	return got;
}

/* Calls `work` with a code context made for one case. */
async function within(t, options, work) {
	const context = await t.client.interpreter.createCodeContext(options);
	try {
		return await work(context);
	} finally {
		await t.client.interpreter.deleteCodeContext(context.id);
	}
}

export default {
	async "contexts are made, listed and deleted"(t) {
		const { interpreter } = t.client;
		const context = await interpreter.createCodeContext({ language: "javascript", cwd: "/tmp" });
		assert.match(context.id, /^[0-9a-f]{8}-[0-9a-f-]{27}$/);
		assert.deepEqual([context.language, context.cwd], ["javascript", "/tmp"]);
		assert.ok(context.createdAt.getTime() > 0);
		const listed = (await interpreter.listCodeContexts()).find(({ id }) => id === context.id);
		assert.deepEqual([listed.language, listed.cwd], ["javascript", "/tmp"]);
		await interpreter.deleteCodeContext(context.id);
		assert.ok((await interpreter.listCodeContexts()).every(({ id }) => id !== context.id));
	},

	async "a context is Python in /workspace unless it is told otherwise"(t) {
		await within(t, undefined, async (context) => {
			assert.deepEqual([context.language, context.cwd], ["python", "/workspace"]);
			const { results } = await runs(t, context, "import os; os.getcwd()");
			assert.equal(results[0].text, "'/workspace'");
		});
	},

	async "state, output and results in three languages"(t) {
		const say = { python: "print(x)", javascript: "console.log(x)", typescript: "console.log(x as number)" };
		for (const [language, print] of Object.entries(say))
			await within(t, { language }, async (context) => {
				await runs(t, context, "x = 20");
				const got = await runs(t, context, `${print}\nx + 1`);
				assert.deepEqual([got.stdout, got.results.length, got.results[0].text, got.error],
					["20\n", 1, "21", undefined], language);
			});
	},

	async "an error has a name, a message and a traceback"(t) {
		await within(t, {}, async (context) => {
			const { error } = await runs(t, context, "def f():\n  return {}['k']\nf()");
			assert.deepEqual([error.name, error.message], ["KeyError", "'k'"]);
			assert.ok(error.traceback.some((line) => line.includes("return {}['k']")), error.traceback);
		});
	},

	async "results have richer forms"(t) {
		await within(t, {}, async (context) => {
			const table = (await runs(t, context, "import pandas as pd; pd.DataFrame({'a': [1]})")).results[0];
			assert.match(table.html, /<table/);
			assert.ok(table.formats().includes("html") && table.formats().includes("text"));
			const { results } = await runs(t, context, "import matplotlib.pyplot as p; p.plot([1, 2]);");
			assert.equal(Buffer.from(results[0].png, "base64").toString("latin1", 1, 4), "PNG");
			assert.deepEqual((await runs(t, context, "{'a': [1]}")).results[0].json, { a: [1] });
		});
	},

	async "output comes while the code runs"(t) {
		const go = `/workspace/${t.shell}.go`;
		await within(t, {}, async (context) => {
			let asked;
			const got = await runs(t, context, `print('begun ü😀')
import os, time
while not os.path.exists('${go}'): time.sleep(0.01)`, { seen: () => { asked ??= t.says(`touch ${go}`); } });
			await asked;
			assert.equal(got.stdout, "begun ü😀\n");
		});
	},

	async "variables of a context are its code's"(t) {
		for (const [language, code] of [["python", "import os; os.environ['WHO']"], ["javascript", "process.env.WHO"]])
			await within(t, { language, envVars: { WHO: "it's me" } }, async (context) => {
				assert.equal((await runs(t, context, code)).results[0].text, `"it's me"`);
			});
	},

	async "a time limit interrupts, and the context keeps its state"(t) {
		for (const [language, loop] of [["python", "while True: pass"], ["javascript", "while (true) {}"]])
			await within(t, { language }, async (context) => {
				await runs(t, context, "x = 3");
				/* wait: the loop never ends */
				const { error } = await runs(t, context, loop, { timeoutMs: 300 });
				assert.equal(error.name, "TimeoutError");
				assert.match(error.message, /timed out after 300ms/);
				assert.equal((await runs(t, context, "x")).results[0].text, "3");
			});
	},

	async "an error is its class"(t) {
		const { interpreter } = t.client;
		const nobody = { id: "00000000-0000-4000-8000-000000000000" };
		await t.refused("CONTEXT_NOT_FOUND", 404, runs(t, nobody, "1"));
		await t.refused("CONTEXT_NOT_FOUND", 404, interpreter.deleteCodeContext(nobody.id));
		await t.refused("VALIDATION_FAILED", 400, interpreter.createCodeContext({ language: "cobol" }));
		await t.refused("VALIDATION_FAILED", 400, interpreter.createCodeContext({ cwd: "/no/such/place" }));
		await t.refused("PYTHON_NOT_AVAILABLE", 501, interpreter.createCodeContext({ envVars: { PATH: "/none" } }));
		await t.refused("JAVASCRIPT_NOT_AVAILABLE", 501,
			interpreter.createCodeContext({ language: "javascript", envVars: { PATH: "/none" } }));
	},

	async "the sandbox runs code without a context"(t) {
		const box = t.sandbox(t.shell);
		await box.runCode("total = 40");
		const result = await box.runCode("print('hi')\ntotal + 2");
		assert.deepEqual([result.logs.stdout.join(""), result.results[0].text, result.error], ["hi\n", "42", undefined]);
		const js = await box.runCode("[1, 2].map((n) => n * 2)", { language: "javascript" });
		assert.deepEqual(js.results[0].json, [2, 4]);
		const failed = await box.runCode("1 / 0");
		assert.equal(failed.error.name, "ZeroDivisionError");
	},

	async "the sandbox runs code in a context, and as a stream"(t) {
		const box = t.sandbox(t.shell);
		const context = await box.createCodeContext({ language: "typescript" });
		await box.runCode("const n: number = 6", { context });
		const events = await t.events(await box.runCodeStream("console.log('x'); n * 7", { context }));
		assert.deepEqual(events.map(({ type, text }) => [type, text]),
			[["stdout", "x\n"], ["result", "42"], ["execution_complete", undefined]]);
		assert.ok((await box.listCodeContexts()).some(({ id }) => id === context.id));
		await box.deleteCodeContext(context.id);
		await assert.rejects(box.runCodeStream("1", { context }), /not found/);
		await assert.rejects(box.createCodeContext({ language: "cobol" }));
	},
};
