/*
 * kernel_node.js: runs the cells of one JavaScript or TypeScript context.
 *
 * kernel_start.c starts node with this text on descriptor 0 and a socket on
 * descriptor 3; kernel.h describes the protocol.  Cells are evaluated as in a
 * debugger's console (Runtime.evaluate, replMode): `await` works anywhere, names
 * may be declared again, the last expression is the value.
 */
(function (require, importModule) {
	"use strict";

	const { createRequire } = require("module");
	const fs = require("fs");
	const inspector = require("inspector");
	const util = require("util");
	const vm = require("vm");

	const RESULT_MAX = 32 * 1024 * 1024;
	const ERROR_MAX = 1024 * 1024; /* the wrapper drops a longer error */
	const TRACEBACK_MAX = 200; /* lines */
	const LINE_MAX = 4096;
	const LINE_SHORT = 256; /* if LINE_MAX makes the error too long */
	const MIMES = {
		"text/plain": "text", "text/html": "html", "text/markdown": "markdown",
		"image/svg+xml": "svg", "image/png": "png", "image/jpeg": "jpeg",
		"text/latex": "latex", "application/json": "json",
		"application/javascript": "javascript",
	};
	const CHANNEL = 3;
	const LATE_NS = 500000000n;
	const monotonic = process.hrtime.bigint;
	const IMPORT = "__import";
	const DISPLAY = Symbol.for("Jupyter.display");

	const session = new inspector.Session();
	let running = null; /* the running cell: { seq, reject } */

	/* ---- the channel */

	/* ASCII only: a client that reads in pieces may cut longer characters. */
	const encode = (body) => JSON.stringify(body).replace(/[\u007f-\uffff]/g,
		(c) => "\\u" + c.charCodeAt(0).toString(16).padStart(4, "0"));

	/* Blocks; `wait`: until the wrapper has read the line. */
	function send(kind, text, wait = false) {
		let line = Buffer.from(`${kind} ${running?.seq ?? 0} ${text}\n`);
		while (line.length > 0)
			line = line.subarray(fs.writeSync(CHANNEL, line));
		if (wait)
			fs.readSync(CHANNEL, Buffer.alloc(1));
	}

	/* Calls take(request) for the next line, or end() at end of file. */
	function receive(take, end, pieces = []) {
		fs.read(CHANNEL, Buffer.alloc(65536), (error, count, buffer) => {
			if (error || count === 0)
				return end();
			const last = buffer[count - 1] === 10;
			pieces.push(buffer.subarray(0, count));
			const line = last ? Buffer.concat(pieces).toString().trim() : "";
			if (line === "")
				return receive(take, end, last ? [] : pieces);
			return take(JSON.parse(line));
		});
	}

	/* ---- results */

	function plainJson(value) {
		const proto = Object.getPrototypeOf(value);
		if (proto !== null && ![Object.prototype, Array.prototype].includes(proto))
			return undefined;
		try {
			JSON.stringify(value);
			return value;
		} catch {
			return undefined;
		}
	}

	function describe(value) {
		const shown = {};
		if (value !== null && typeof value === "object") {
			const bundle = typeof value[DISPLAY] === "function" ? value[DISPLAY]() : {};
			for (const [mime, data] of Object.entries(bundle))
				if (MIMES[mime])
					shown[MIMES[mime]] = data;
			shown.json ??= plainJson(value);
		}
		shown.text ??= util.inspect(value, { maxStringLength: Infinity });
		return shown;
	}

	function show(value) {
		if (running === null)
			return; /* a callback of a cell that has ended */
		const text = encode({ type: "result", ...describe(value), metadata: {} });
		if (text.length > RESULT_MAX)
			throw new RangeError(`a result of ${text.length} bytes: at most ${RESULT_MAX} can be shown`);
		send("result", text, true);
	}

	/* ---- the tenant's code */

	/*
	 * `import` works in modules only, and a cell is none.  So it is rewritten
	 * into calls of a function that was compiled where import() works.  Code
	 * without `import` and `export` is not parsed here.
	 */
	const REWRITES = {
		ImportExpression: (node) => [[node.start, node.start + "import".length, IMPORT]],
		ImportDeclaration(node) {
			const from = `await ${IMPORT}(${node.source.raw})`;
			const whole = node.specifiers.find((s) => s.type === "ImportNamespaceSpecifier");
			const names = node.specifiers.filter((s) => s !== whole).map((s) =>
				s.type === "ImportDefaultSpecifier" ? `default: ${s.local.name}`
					: `${s.imported.raw ?? s.imported.name}: ${s.local.name}`);
			const parts = [...whole ? [`const ${whole.local.name} = ${from};`] : [],
				...names.length > 0 ? [`const { ${names.join(", ")} } = ${from};`] : []];
			return [[node.start, node.end, parts.join(" ") || `${from};`]];
		},
		ExportNamedDeclaration: (node) => [[node.start,
			node.declaration ? node.declaration.start : node.end, ""]],
	};

	function* nodes(node) {
		if (typeof node.type === "string")
			yield node;
		for (const child of Object.values(node))
			if (child !== null && typeof child === "object")
				yield* nodes(child);
	}

	function rewriteImports(code) {
		if (!/\b(im|ex)port\b/.test(code))
			return code;
		let tree;
		try {
			tree = require("internal/deps/acorn/acorn/dist/acorn").parse(code,
				{ ecmaVersion: "latest", sourceType: "module" });
		} catch {
			return code; /* V8's own syntax error is clearer */
		}
		const edits = [...nodes(tree)].flatMap((node) => REWRITES[node.type]?.(node) ?? []);
		for (const [start, end, text] of edits.sort((a, b) => b[0] - a[0]))
			code = code.slice(0, start) + text + code.slice(end);
		return code;
	}

	function findTypescript() {
		for (const place of ["typescript", ...process.argv[2].split(",")])
			try {
				return createRequire(`${process.cwd()}/`)(place);
			} catch (error) {
				if (error.code !== "MODULE_NOT_FOUND")
					throw error;
			}
		return null;
	}

	function typescript(compiler) {
		const compilerOptions = { target: "ES2022", module: "ESNext",
			/* keep unused imports: a later cell may use them */
			preserveValueImports: true, isolatedModules: true, experimentalDecorators: true };
		return (code) => {
			const { outputText, diagnostics } = compiler.transpileModule(code,
				{ reportDiagnostics: true, compilerOptions });
			const wrong = diagnostics.find((one) => one.start !== undefined);
			if (wrong) {
				const line = code.slice(0, wrong.start).split("\n").length;
				const words = compiler.flattenDiagnosticMessageText(wrong.messageText, "\n");
				throw new SyntaxError(`${words} (line ${line})`);
			}
			return outputText;
		};
	}

	class Exit extends Error {
		constructor(code) {
			super(`process.exit(${code ?? 0})`);
			this.name = "Exit";
			this.code = code ?? 0;
		}
	}

	/* ---- evaluating */

	const HOOK = 'globalThis[Symbol.for("sandlease.kernel")]';
	const hook = {};
	/* With breakOnSigint, SIGINT ends the code that this script runs. */
	const enter = new vm.Script(`${HOOK}.go()`);

	/* Returns the value that a RemoteObject of the debugger stands for. */
	function fetchValue(remote) {
		if (remote.unserializableValue !== undefined) /* NaN, -0, 12n */
			return vm.runInThisContext(remote.unserializableValue);
		if (remote.objectId === undefined)
			return remote.value;
		session.post("Runtime.callFunctionOn", { objectId: remote.objectId,
			functionDeclaration: `function () { "use strict"; ${HOOK}.taken = this; }` });
		const { taken } = hook;
		delete hook.taken;
		return taken;
	}

	function evaluate(code, name) {
		return new Promise((resolve, reject) => {
			running.reject = reject;
			hook.go = () => session.post("Runtime.evaluate", {
				expression: `${code}\n//# sourceURL=${name}`, objectGroup: "cell",
				replMode: true, awaitPromise: true,
			}, (error, answer) => (error ? reject(new Error(error.message)) : resolve(answer)));
			enter.runInThisContext({ breakOnSigint: true });
		});
	}

	class Interrupted extends Error {}
	const isInterruption = (error) => error instanceof Interrupted
		|| error?.code === "ERR_SCRIPT_EXECUTION_INTERRUPTED";

	/*
	 * The cell has failed because SIGINT ended a program that it waited for.
	 * Waits until node has its own SIGINT too: a late one would interrupt the
	 * next cell.
	 */
	function awaitInterruption() {
		const until = monotonic() + LATE_NS;
		hook.go = () => { while (monotonic() < until); };
		try {
			enter.runInThisContext({ breakOnSigint: true });
		} catch {
			/* the signal has arrived */
		}
	}

	async function run(code, name) {
		const { result, exceptionDetails: wrong } =
			await evaluate(rewriteImports(transpile(code)), name);
		if (wrong)
			throw wrong.exception ? fetchValue(wrong.exception) : new Error(wrong.text);
		const value = fetchValue(result);
		if (value !== undefined)
			show(value);
	}

	function explain(error) {
		if (isInterruption(error))
			return { ename: "KeyboardInterrupt", evalue: "", lines: ["KeyboardInterrupt"] };
		const isError = error instanceof Error;
		const lines = String(isError ? error.stack : util.inspect(error)).split("\n");
		const ours = lines.findIndex((line) =>
			/^ +at .*(node:(inspector|vm)|kernel_node\.js)/.test(line));
		return { ename: isError ? String(error.name) : "Thrown",
			evalue: isError ? String(error.message) : util.inspect(error),
			lines: lines.slice(0, ours < 0 ? TRACEBACK_MAX : Math.min(ours, TRACEBACK_MAX)) };
	}

	function explainSafely(error) {
		try {
			return explain(error);
		} catch {
			return { ename: "Error", evalue: "", lines: ["cannot be shown"] };
		}
	}

	/* Makes the error event, cut so that the wrapper does not drop it. */
	function encodeError(error) {
		const { ename, evalue, lines } = explainSafely(error);
		const cut = (longest) => encode({ type: "error", ename: ename.slice(0, longest),
			evalue: evalue.slice(0, 16 * longest),
			traceback: lines.map((line) => line.slice(0, longest)) });
		const text = cut(LINE_MAX);
		return text.length < ERROR_MAX ? text : cut(LINE_SHORT);
	}

	/* Sets environment variables (null: unset); returns their old values. */
	function putVariables(values) {
		const before = {};
		for (const [name, value] of Object.entries(values)) {
			before[name] = process.env[name] ?? null;
			if (value === null)
				delete process.env[name];
			else
				process.env[name] = value;
		}
		return before;
	}

	async function runCell({ seq, code, env }) {
		let last = ["done", "{}"];
		const before = putVariables(env ?? {});
		running = { seq };
		try {
			await run(code, `cell-${seq}.js`);
		} catch (error) {
			if (!(error instanceof Exit && error.code === 0))
				last = ["error", encodeError(error)];
			if (isInterruption(error))
				fs.writeSync(CHANNEL, "\n"); /* ends a line cut short */
			else if (error?.signal === "SIGINT")
				awaitInterruption();
		}
		session.post("Runtime.releaseObjectGroup", { objectGroup: "cell" });
		putVariables(before);
		send(...last);
		running = null;
	}

	/* ---- */

	function offer(name, value) {
		Object.defineProperty(globalThis, name,
			{ value, writable: true, configurable: true });
	}

	/* Prints an error that no cell waits for; the kernel goes on. */
	function onStray(error) {
		if (!(error instanceof Exit))
			process.stderr.write(`Uncaught ${util.inspect(error)}\n`);
	}

	let transpile = (code) => code;

	function main() {
		const leave = process.exit.bind(process);
		if (process.argv[1] === "typescript") {
			const compiler = findTypescript();
			if (compiler === null) {
				send("missing", "{}");
				return;
			}
			transpile = typescript(compiler);
		}
		session.connect();
		offer("display", (...values) => values.forEach(show));
		offer(IMPORT, importModule);
		offer(Symbol.for("sandlease.kernel"), hook);
		process.exit = (code) => { throw new Exit(code); };
		process.argv.length = 1;
		process.on("SIGINT", () => running?.reject?.(new Interrupted("interrupted")));
		process.on("uncaughtException", onStray);
		process.on("unhandledRejection", onStray);
		/* an `await` without any pending event must not end node */
		setInterval(() => {}, 1 << 30);
		/* blocking: a cell's output is in the pipe before `done` is sent */
		for (const stream of [process.stdout, process.stderr])
			stream._handle?.setBlocking?.(true);
		send("ready", "{}");
		/* exit when the wrapper has closed the channel */
		const next = () => receive((request) => void runCell(request).then(next, () => leave(1)),
			() => leave(0));
		next();
	}

	main();
})
