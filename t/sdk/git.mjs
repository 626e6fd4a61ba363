/*
 * git.mjs: tests clones of repositories, by file:// and from a server inside
 * the session.
 */
import assert from "node:assert/strict";

const PORT = 4900;
const REPOSITORIES = "/tmp/repositories";
const HTTP = `http://127.0.0.1:${PORT}`;

/* /auth/ wants a password, /slow/ never answers; git's own server answers the rest. */
const SERVER = `
import os, subprocess, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

class Git(BaseHTTPRequestHandler):
    def answer(self):
        if self.path.startswith("/auth/"):
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.end_headers()
            return
        if self.path.startswith("/slow/"):
            time.sleep(600)
        path, _, query = self.path.partition("?")
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        env = dict(os.environ, GIT_PROJECT_ROOT="${REPOSITORIES}", GIT_HTTP_EXPORT_ALL="1",
                   PATH_INFO=path, QUERY_STRING=query, REQUEST_METHOD=self.command,
                   CONTENT_TYPE=self.headers.get("Content-Type", ""),
                   HTTP_CONTENT_ENCODING=self.headers.get("Content-Encoding", ""),
                   GIT_PROTOCOL=self.headers.get("Git-Protocol", ""))
        out = subprocess.run(["git", "http-backend"], input=body, env=env,
                             stdout=subprocess.PIPE).stdout
        head, _, rest = out.partition(b"\\r\\n\\r\\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\\r\\n"))
        self.send_response(int(fields.pop("Status", "200 OK").split()[0]))
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(rest)
    do_GET = do_POST = answer

ThreadingHTTPServer(("127.0.0.1", ${PORT}), Git).serve_forever()
`;

/* Makes three commits on main and one more on side, once in a session. */
async function repository(t) {
	if (t.repository)
		return t.repository;
	await t.says(`set -e; (mkdir -p ${REPOSITORIES} && cd ${REPOSITORIES} &&
		git init -q -b main work && cd work &&
		git config user.name Somebody && git config user.email somebody@example.com &&
		for i in 1 2 3; do echo $i > file && git add file && git commit -qm "commit $i"; done &&
		git checkout -qb side && echo side > file && git commit -qam side && git checkout -q main &&
		cd .. && git clone -q --bare work project.git)`, { shell: "git-set-up" });
	await t.client.files.writeFile("/tmp/git-server.py", SERVER, "git-set-up");
	await t.client.processes.startProcess("exec python3 /tmp/git-server.py", "git-set-up");
	await t.until(`curl -s -o /dev/null ${HTTP}/`);
	return t.repository = `file://${REPOSITORIES}/project.git`;
}

export default {
	async "a repository is cloned, and a commit works at once"(t) {
		const repoUrl = await repository(t);
		const done = await t.client.git.checkout(repoUrl, t.shell);
		assert.deepEqual([done.success, done.repoUrl, done.branch, done.targetDir],
			[true, repoUrl, "main", "/workspace/project"]);
		assert.equal(await t.says(`cd /workspace/project && cat file && echo more >> file &&
			git commit -qam more && git rev-list --count HEAD`), "3\n4");
		assert.match(await t.says("git -C /workspace/project log -1 --format='%an <%ae>'"), /^.+ <.+@.+>$/);
	},

	async "a branch and a directory can be named"(t) {
		const done = await t.client.git.checkout(await repository(t), t.shell,
			{ branch: "side", targetDir: `${t.dir}/a b's` });
		assert.deepEqual([done.branch, done.targetDir], ["side", `${t.dir}/a b's`]);
		assert.equal(await t.says(`cat "${t.dir}/a b's/file"`), "side");
	},

	async "a clone can be shallow"(t) {
		t.needs("depth");
		await t.client.git.checkout(await repository(t), t.shell, { targetDir: t.dir, depth: 1 });
		assert.equal(await t.says(`git -C ${t.dir} rev-list --count HEAD`), "1");
	},

	async "a repository is cloned from a server"(t) {
		await repository(t);
		const done = await t.client.git.checkout(`${HTTP}/project.git`, t.shell,
			{ branch: "side", targetDir: t.dir });
		assert.deepEqual([done.branch, done.targetDir], ["side", t.dir]);
		assert.equal(await t.says(`cat ${t.dir}/file`), "side");
	},

	async "a repository that is not there is not found"(t) {
		await repository(t);
		for (const url of [`file://${REPOSITORIES}/none.git`, `${HTTP}/none.git`]) {
			const error = await t.refused("GIT_REPOSITORY_NOT_FOUND", 404,
				t.client.git.checkout(url, t.shell, { targetDir: t.dir }));
			assert.equal(error.context.repository, url);
		}
	},

	async "a branch that is not there is not found"(t) {
		for (const url of [await repository(t), `${HTTP}/project.git`]) {
			const error = await t.refused("GIT_BRANCH_NOT_FOUND", 404,
				t.client.git.checkout(url, t.shell, { branch: "none", targetDir: t.dir }));
			assert.equal(error.context.branch, "none");
		}
	},

	async "who is not let in is told so, without the password"(t) {
		await repository(t);
		const error = await t.refused("GIT_AUTH_FAILED", 401, t.client.git.checkout(
			`http://me:s3cret@127.0.0.1:${PORT}/auth/project.git`, t.shell, { targetDir: t.dir }));
		assert.ok(!JSON.stringify(error.errorResponse).includes("s3cret"), error.message);
	},

	async "a server that is not there is an error of git's"(t) {
		const error = await t.client.git.checkout("http://127.0.0.1:4999/x.git", t.shell,
			{ targetDir: t.dir }).catch((reason) => reason);
		assert.match(error.name, /^Git(Network|Clone|)Error$/, error.code);
		assert.ok(error.httpStatus >= 500, String(error.httpStatus));
	},

	async "a server that never answers is given up"(t) {
		t.needs("time for git");
		await repository(t);
		await t.refused("GIT_NETWORK_ERROR", 502, t.client.git.checkout(`${HTTP}/slow/project.git`,
			/* wait: the server never answers */
			t.shell, { targetDir: t.dir, timeoutMs: 1000 }));
		await t.says(`test ! -e ${t.dir} && echo free`);
	},

	async "what is no address is refused, and never an option or a program"(t) {
		for (const url of ["", "-h", "--upload-pack=touch /workspace/owned", "ext::sh -c touch% /workspace/owned",
			`file:///${"x".repeat(2048)}`])
			await t.refused("INVALID_GIT_URL", 400,
				t.client.git.checkout(url, t.shell, { targetDir: t.dir }));
		await assert.rejects(t.client.git.checkout(await repository(t), t.shell,
			{ branch: "--upload-pack=touch /workspace/owned", targetDir: t.dir }));
		await t.says("test ! -e /workspace/owned");
	},

	async "a directory with something in it is left alone"(t) {
		await t.says(`mkdir -p ${t.dir} && echo mine > ${t.dir}/file`);
		const error = await t.client.git.checkout(await repository(t), t.shell,
			{ targetDir: t.dir }).catch((reason) => reason);
		assert.match(error.name, /^Git(Clone|)Error$/, error.code);
		assert.equal(await t.says(`cat ${t.dir}/file`), "mine");
	},
};
