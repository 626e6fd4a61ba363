/* files.mjs: tests files as text, as base64 and as streams. */
import assert from "node:assert/strict";
import { createHash } from "node:crypto";

/* the smallest picture */
const PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const MB = 1000 * 1000;
const LIMIT = 32 * 1024 * 1024;

/* names that a careless server passes to a shell, a parser or a URL */
const NAMES = ["with space", "quo'te\"s", "new\nline", "$(touch owned)", "-rf", "ünïcödé 😀",
	"a;b&c|d", "%2e%2e", "back\\slash", "*", "#?", ".hidden"];

/* the operation that an error names, by the first word of the refusal's title */
const OPERATIONS = { reading: "file.read", writing: "file.write", deleting: "file.delete",
	renaming: "file.rename", moving: "file.move", making: "directory.create",
	listing: "directory.list" };

/* refusals: code, status, and the call that is refused */
const REFUSALS = {
	"reading what is not there": ["FILE_NOT_FOUND", 404, (f, d, s) => f.readFile(`${d}/none`, s)],
	"reading a directory": ["IS_DIRECTORY", 400, (f, d, s) => f.readFile(d, s)],
	"reading what may not be read": ["PERMISSION_DENIED", 403, (f, d, s) => f.readFile(`${d}/secret`, s)],
	"reading below a file": ["NOT_DIRECTORY", 400, (f, d, s) => f.readFile(`${d}/file/x`, s)],
	"reading a name that is too long": ["NAME_TOO_LONG", 400, (f, d, s) => f.readFile(`${d}/${"x".repeat(256)}`, s)],
	"reading a loop of links": ["TOO_MANY_LINKS", 500, (f, d, s) => f.readFile(`${d}/loop`, s)],
	"reading no path": ["VALIDATION_FAILED", 400, (f, d, s) => f.readFile("", s)],
	"reading a path with a NUL": ["VALIDATION_FAILED", 400, (f, d, s) => f.readFile(`${d}/\0`, s)],
	"reading a path of 5,000 characters": ["VALIDATION_FAILED", 400, (f, d, s) => f.readFile(`/${"x/".repeat(2500)}`, s)],
	"reading a path that is a number": ["VALIDATION_FAILED", 400, (f, d, s) => f.readFile(42, s)],
	"writing a directory": ["IS_DIRECTORY", 400, (f, d, s) => f.writeFile(d, "x", s)],
	"writing below a file": ["NOT_DIRECTORY", 400, (f, d, s) => f.writeFile(`${d}/file/x`, "x", s)],
	"writing where nothing may be written": ["PERMISSION_DENIED", 403, (f, d, s) => f.writeFile(`${d}/closed/x`, "x", s)],
	"writing what only the system writes": ["READ_ONLY", 403, (f, d, s) => f.writeFile("/usr/x", "x", s)],
	"writing what is no base64": ["VALIDATION_FAILED", 400, (f, d, s) => f.writeFile(`${d}/x`, "*", s, { encoding: "base64" })],
	"writing no text": ["VALIDATION_FAILED", 400, (f, d, s) => f.writeFile(`${d}/x`, 42, s)],
	"making a directory that is there": ["FILESYSTEM_ERROR", 500, (f, d, s) => f.mkdir(d, s)],
	"making one in none": ["FILESYSTEM_ERROR", 500, (f, d, s) => f.mkdir(`${d}/no/way`, s)],
	"deleting what is not there": ["FILE_NOT_FOUND", 404, (f, d, s) => f.deleteFile(`${d}/none`, s)],
	"deleting a directory": ["IS_DIRECTORY", 400, (f, d, s) => f.deleteFile(d, s)],
	"renaming what is not there": ["FILE_NOT_FOUND", 404, (f, d, s) => f.renameFile(`${d}/none`, `${d}/x`, s)],
	"moving what is not there": ["FILE_NOT_FOUND", 404, (f, d, s) => f.moveFile(`${d}/none`, `${d}/x`, s)],
	"listing what is not there": ["FILE_NOT_FOUND", 404, (f, d, s) => f.listFiles(`${d}/none`, s)],
	"listing a file": ["NOT_DIRECTORY", 400, (f, d, s) => f.listFiles(`${d}/file`, s)],
};

async function refusals(t) {
	const { dir, shell, client: { files } } = t;
	await t.says(`mkdir -p ${dir}/closed && cd ${dir} && echo x > file && echo x > secret &&
		ln -s loop loop && chmod 000 secret && chmod 555 closed`, { shell: "looks" });
	for (const [what, [code, status, ask]] of Object.entries(REFUSALS)) {
		const error = await t.refused(code, status, ask(files, dir, shell)).catch((failure) => {
			failure.message = `${what}: ${failure.message}`;
			throw failure;
		});
		if (code === "VALIDATION_FAILED")
			continue;
		assert.ok(error.context.path, `${what}: a path is told`);
		assert.equal(error.context.operation, OPERATIONS[what.split(" ")[0]], what);
	}
}

export default {
	async "text is written and read"(t) {
		const { files } = t.client;
		const text = "first\r\nsecond\tünï 😀 \u2028\n";
		const written = await files.writeFile(`${t.dir}/a.txt`, text, t.shell);
		assert.deepEqual([written.success, written.path], [true, `${t.dir}/a.txt`]);
		const read = await files.readFile(`${t.dir}/a.txt`, t.shell);
		assert.equal(read.success, true);
		assert.equal(read.content, text);
		assert.equal(read.encoding, "utf-8");
		assert.equal(read.isBinary, false);
		assert.equal(read.mimeType, "text/plain");
		assert.equal(read.size, Buffer.byteLength(text));
	},

	async "parents are made, and what is there is replaced"(t) {
		const { files } = t.client;
		for (const text of ["longer than the next", "short", ""]) {
			await files.writeFile(`${t.dir}/new/deep/file`, text, t.shell);
			assert.equal((await files.readFile(`${t.dir}/new/deep/file`, t.shell)).content, text);
		}
	},

	async "a picture is written in base64 and read as such"(t) {
		const { files } = t.client;
		await files.writeFile(`${t.dir}/p.png`, PNG, t.shell, { encoding: "base64" });
		assert.equal(await t.says(`head -c 4 ${t.dir}/p.png | od -An -c | tr -d ' '`), "211PNG");
		const read = await files.readFile(`${t.dir}/p.png`, t.shell);
		assert.deepEqual([read.content, read.encoding, read.isBinary, read.mimeType],
			[PNG, "base64", true, "image/png"]);
	},

	async "how it is read can be chosen"(t) {
		const { files } = t.client;
		await files.writeFile(`${t.dir}/a.txt`, "text ü", t.shell);
		const binary = await files.readFile(`${t.dir}/a.txt`, t.shell, { encoding: "base64" });
		assert.equal(Buffer.from(binary.content, "base64").toString(), "text ü");
		assert.equal(binary.encoding, "base64");
		for (const encoding of ["utf8", "utf-8"])
			assert.equal((await files.readFile(`${t.dir}/a.txt`, t.shell, { encoding })).content, "text ü");
	},

	async "source code, JSON and files without a name's end are text"(t) {
		const { files } = t.client;
		for (const name of ["a.js", "a.json", "a.py", "a.ts", "a.svg", "a.html", "Makefile", "a.xyz"]) {
			await files.writeFile(`${t.dir}/${name}`, "x = 1;\n", t.shell);
			const read = await files.readFile(`${t.dir}/${name}`, t.shell);
			assert.deepEqual([read.content, read.isBinary], ["x = 1;\n", false], name);
		}
	},

	async "commands and files see the same"(t) {
		const { files } = t.client;
		await files.writeFile(`${t.dir}/run.sh`, "#!/bin/sh\necho ran\n", t.shell);
		await t.says(`chmod 755 ${t.dir}/run.sh; ln -s run.sh ${t.dir}/link`);
		await files.writeFile(`${t.dir}/link`, "#!/bin/sh\necho again\n", t.shell);
		assert.equal(await t.says(`${t.dir}/run.sh; test -L ${t.dir}/link && stat -c %a ${t.dir}/run.sh`),
			"again\n755");
		await t.says(`echo mine > ${t.dir}/mine`);
		assert.equal((await files.readFile(`${t.dir}/mine`, t.shell)).content, "mine\n");
	},

	async "relative paths begin in the shell's directory"(t) {
		const { files } = t.client;
		await t.says(`mkdir -p ${t.dir}; cd ${t.dir}`);
		await files.writeFile("near.txt", "near", t.shell);
		assert.equal((await files.readFile("./near.txt", t.shell)).content, "near");
		assert.equal((await files.exists("../" + t.shell + "/near.txt", t.shell)).exists, true);
		assert.equal((await files.listFiles(".", t.shell)).count, 1);
		assert.equal(await t.says(`cat ${t.dir}/near.txt`), "near");
	},

	async "directories are made, listed, renamed and moved"(t) {
		const { files } = t.client;
		const made = await files.mkdir(`${t.dir}/a/b`, t.shell, { recursive: true });
		assert.deepEqual([made.success, made.path, made.recursive], [true, `${t.dir}/a/b`, true]);
		await files.mkdir(`${t.dir}/a/b`, t.shell, { recursive: true });
		await files.mkdir(`${t.dir}/c`, t.shell);
		await files.writeFile(`${t.dir}/a/b/file`, "x", t.shell);
		const renamed = await files.renameFile(`${t.dir}/a/b/file`, `${t.dir}/a/b/other`, t.shell);
		assert.deepEqual([renamed.path, renamed.newPath], [`${t.dir}/a/b/file`, `${t.dir}/a/b/other`]);
		const moved = await files.moveFile(`${t.dir}/a/b/other`, `${t.dir}/c/other`, t.shell);
		assert.deepEqual([moved.path, moved.newPath], [`${t.dir}/a/b/other`, `${t.dir}/c/other`]);
		const there = async (path) => (await files.exists(`${t.dir}/${path}`, t.shell)).exists;
		assert.deepEqual([await there("a/b/file"), await there("a/b/other"), await there("c/other"),
			await there("c")], [false, false, true, true]);
		await files.moveFile(`${t.dir}/c/other`, `${t.dir}/a`, t.shell); /* into the directory, as mv does */
		assert.equal(await there("a/other"), true);
		const gone = await files.deleteFile(`${t.dir}/a/other`, t.shell);
		assert.deepEqual([gone.success, gone.path], [true, `${t.dir}/a/other`]);
		assert.equal(await there("a/other"), false);
	},

	async "a list tells kind, size, rights and time"(t) {
		const { files } = t.client;
		await t.says(`mkdir -p ${t.dir}/sub && cd ${t.dir} && printf 12345 > five && chmod 754 five &&
			ln -s five link && mkfifo pipe && echo x > .hidden && echo x > sub/below`);
		const list = await files.listFiles(t.dir, t.shell);
		assert.deepEqual([list.success, list.path, list.count], [true, t.dir, 4]);
		const by = Object.fromEntries(list.files.map((file) => [file.name, file]));
		assert.deepEqual(Object.keys(by).sort(), ["five", "link", "pipe", "sub"]);
		assert.deepEqual([by.five.type, by.link.type, by.pipe.type, by.sub.type],
			["file", "symlink", "other", "directory"]);
		assert.deepEqual({ ...by.five, modifiedAt: Date.parse(by.five.modifiedAt) > 0 }, {
			name: "five", absolutePath: `${t.dir}/five`, relativePath: "five", type: "file",
			size: 5, modifiedAt: true, mode: "rwxr-xr--",
			permissions: { readable: true, writable: true, executable: true } });
		const names = async (options) => (await files.listFiles(t.dir, t.shell, options)).files
			.map((file) => file.relativePath).sort();
		assert.deepEqual(await names({ includeHidden: true }), [".hidden", "five", "link", "pipe", "sub"]);
		assert.deepEqual(await names({ recursive: true }), ["five", "link", "pipe", "sub", "sub/below"]);
		await t.says(`mkdir ${t.dir}/empty`);
		assert.deepEqual((await files.listFiles(`${t.dir}/empty`, t.shell)).files, []);
	},

	async "any name is a name"(t) {
		const { files } = t.client;
		for (const name of NAMES) {
			await files.writeFile(`${t.dir}/${name}`, name, t.shell);
			assert.equal((await files.readFile(`${t.dir}/${name}`, t.shell)).content, name);
			assert.equal((await files.exists(`${t.dir}/${name}`, t.shell)).exists, true, name);
		}
		const list = await files.listFiles(t.dir, t.shell, { includeHidden: true });
		assert.deepEqual(list.files.map((file) => file.name).sort(), [...NAMES].sort());
		for (const name of NAMES) {
			await files.renameFile(`${t.dir}/${name}`, `${t.dir}/${name}.x`, t.shell);
			await files.deleteFile(`${t.dir}/${name}.x`, t.shell);
		}
		assert.equal(await t.says(`ls -A ${t.dir}`), "");
	},

	"what cannot be done is an error of its own class": refusals,

	async "31 MB go there and back"(t) {
		await t.alone(async () => {
			const text = "0123456789abcdef".repeat(31 * MB / 16);
			await t.client.files.writeFile(`${t.dir}/big.txt`, text, t.shell);
			const read = await t.client.files.readFile(`${t.dir}/big.txt`, t.shell);
			assert.equal(read.size, 31 * MB);
			assert.ok(read.content === text);
			await t.client.files.deleteFile(`${t.dir}/big.txt`, t.shell);
		});
	},

	async "40 MiB are written as base64, by one call"(t) {
		await t.alone(async () => {
			const content = Buffer.alloc(40 * 1024 * 1024, "0123456789abcdef");
			await t.client.files.writeFile(`${t.dir}/big.bin`, content.toString("base64"), t.shell,
				{ encoding: "base64" });
			assert.equal(await t.says(`sha256sum < ${t.dir}/big.bin | cut -d " " -f 1; rm ${t.dir}/big.bin`),
				createHash("sha256").update(content).digest("hex"));
		});
	},

	async "more than 32 MiB must be streamed"(t) {
		await t.says(`mkdir -p ${t.dir} && cd ${t.dir} && yes 'a line of text' | head -c ${LIMIT} > fits &&
			{ cat fits; echo; } > big`);
		const error = await t.refused("FILE_TOO_LARGE", 413,
			t.client.files.readFile(`${t.dir}/big`, t.shell));
		assert.deepEqual([error.context.maxSize, error.context.actualSize], [LIMIT, LIMIT + 1]);
		await t.alone(async () => {
			await t.refused("FILE_TOO_LARGE", 413,
				t.client.files.writeFile(`${t.dir}/new`, "x".repeat(2 * LIMIT + 1), t.shell));
			assert.equal((await t.client.files.readFile(`${t.dir}/fits`, t.shell)).size, LIMIT);
			const { content } = await t.sdk.collectFile(
				await t.client.files.readFileStream(`${t.dir}/big`, t.shell));
			assert.equal(content.length, LIMIT + 1);
		});
		await t.says("rm fits big");
	},

	/* ---- streams */

	async "text is streamed, and no character split"(t) {
		const text = "x€😀".repeat(50000);
		await t.client.files.writeFile(`${t.dir}/a.txt`, text, t.shell);
		const { content, metadata } = await t.sdk.collectFile(
			await t.client.files.readFileStream(`${t.dir}/a.txt`, t.shell));
		assert.ok(content === text);
		assert.deepEqual(metadata, { mimeType: "text/plain", size: Buffer.byteLength(text),
			isBinary: false, encoding: "utf-8" });
	},

	async "bytes are streamed"(t) {
		await t.says(`mkdir -p ${t.dir} && head -c 1000003 /dev/urandom > ${t.dir}/a.bin`);
		const { content, metadata } = await t.sdk.collectFile(
			await t.client.files.readFileStream(`${t.dir}/a.bin`, t.shell));
		assert.deepEqual([metadata.isBinary, metadata.encoding, metadata.size], [true, "base64", 1000003]);
		await t.client.files.writeFile(`${t.dir}/b.bin`,
			Buffer.from(content).toString("base64"), t.shell, { encoding: "base64" });
		await t.says(`cmp ${t.dir}/a.bin ${t.dir}/b.bin`);
	},

	async "an empty file is streamed"(t) {
		await t.client.files.writeFile(`${t.dir}/none.txt`, "", t.shell);
		const { content, metadata } = await t.sdk.collectFile(
			await t.client.files.readFileStream(`${t.dir}/none.txt`, t.shell));
		assert.deepEqual([content, metadata.size], ["", 0]);
	},

	async "a stream of what is no file says why"(t) {
		for (const path of [`${t.dir}/none`, "/workspace"])
			await assert.rejects(
				async () => t.sdk.collectFile(await t.client.files.readFileStream(path, t.shell)),
				/File streaming error: .+/);
	},

	async "a stream can be left in the middle"(t) {
		await t.says(`mkdir -p ${t.dir} && truncate -s 50000000 ${t.dir}/big`);
		const stream = await t.client.files.readFileStream(`${t.dir}/big`, t.shell);
		for await (const chunk of t.sdk.streamFile(stream)) {
			assert.ok(chunk.length > 0);
			break;
		}
		await stream.cancel().catch(() => {});
		await t.says(`rm ${t.dir}/big`);
	},
};
