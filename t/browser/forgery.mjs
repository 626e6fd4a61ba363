/*
 * forgery.mjs: tests that a hostile preview cannot use the login of a person who
 * opens it, in a real browser, with dashboard and previews on one registrable
 * domain and on two.
 *
 * The preview's page leads the browser to proxy/{port} of its own session, on the
 * dashboard's origin.  The app's answer there begins with an interim response, or
 * without a status line, so that nginx 1.22 does not take it for a response.
 */
import assert from "node:assert/strict";
import { PATIENCE_MS, key, url, walk } from "./walk.mjs";

const { port } = new URL(url);
const DASHBOARD = `http://sandlease.example.test:${port}`;
const LAYOUTS = { "one site": "previews.example.test", "two sites": "previews.other.test" };
const BEGINNINGS = {
	"103": "HTTP/1.1 103 Early Hints\\r\\n\\r\\n",
	"no status line": "\\r\\n",
	"a plain answer": "",
};

/* The script that a hostile app would like to run on the dashboard's origin. */
const SCRIPT = `(async () => {
	const json = { "Content-Type": "application/json" };
	const tried = await fetch("/v1/sessions/VICTIM/api/execute", { method: "POST",
		headers: json, body: JSON.stringify({ command: "touch OWNED" }) });
	document.title = "PWNED " + tried.status;
})()`;
const APP = `
import socket, threading, urllib.parse
SCRIPT = ${JSON.stringify(SCRIPT)}
def serve(c):
    head = b""
    while b"\\r\\n\\r\\n" not in head:
        head += c.recv(65536) or b"\\r\\n\\r\\n"
    url = urllib.parse.urlsplit(head.split()[1].decode())
    asked = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
    page = "<!doctype html><title>hostile</title>"
    if url.path == "/lure":
        page += "<meta name=referrer content=no-referrer><script>location = %r</script>" % asked["to"]
    elif url.path == "/pwn":
        page += "<script>%s</script>" % SCRIPT.replace("VICTIM", asked["victim"])
    body = page.encode()
    begin = asked.get("begin", "").encode().decode("unicode_escape").encode()
    c.sendall(begin + b"HTTP/1.1 200 OK\\r\\nContent-Type: text/html\\r\\n"
              b"Content-Length: %d\\r\\n\\r\\n" % len(body) + body)
    c.shutdown(socket.SHUT_WR)
    while c.recv(65536): pass
    c.close()
listener = socket.create_server(("127.0.0.1", 8000))
while True:
    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
`;

let browser, context, page; /* of a person who is logged in */
let hostile, victim, label;

/* ---- calls with a key */

async function api(method, path, body) {
	const answer = await fetch(url + path, {
		method, body: body && JSON.stringify(body),
		headers: { Authorization: `Bearer ${key}`, "Content-Type": "application/json" },
	});
	if (!answer.ok)
		throw new Error(`${method} ${path}: ${answer.status} ${await answer.text()}`);
	return answer.status === 204 ? {} : answer.json();
}

const execute = (id, command) => api("POST", `/v1/sessions/${id}/api/execute`, { command });

async function prepare() {
	hostile = (await api("POST", "/v1/sessions", { isolation: "session" })).id;
	victim = (await api("POST", "/v1/sessions", { isolation: "session" })).id;
	await api("POST", `/v1/sessions/${hostile}/api/write`,
		{ path: "/workspace/app.py", content: APP });
	await execute(hostile, "(/usr/bin/python3 app.py >app.log 2>&1 &)");
	/* wait: polls until the app listens */
	await execute(hostile, "until (: </dev/tcp/127.0.0.1/8000) 2>/dev/null; do sleep 0.1; done");
	const { url: preview } = await api("POST", `/v1/sessions/${hostile}/ports`, { port: 8000 });
	label = new URL(preview).hostname.split(".")[0];
}

/* ---- calls as a person */

async function logIn() {
	await context?.close();
	context = await browser.newContext();
	context.setDefaultTimeout(PATIENCE_MS);
	page = await context.newPage();
	await page.goto(DASHBOARD);
	assert.equal(await call("POST", "/v1/login", { key }), 204);
	assert.equal(await call("GET", "/v1/me"), 200);
}

/* A call from the dashboard's own page. */
function call(method, path, body) {
	return page.evaluate(async ([m, p, b]) => (await fetch(p, {
		method: m, headers: { "Content-Type": "application/json" },
		body: b && JSON.stringify(b),
	})).status, [method, path, body]);
}

const preview = (domain, path) => `http://${label}.${domain}:${port}${path}`;

async function nothingHappened(where) {
	const title = await where.title();
	assert.ok(!title.startsWith("PWNED"), title);
	const { stdout } = await execute(victim, "ls");
	assert.ok(!stdout.includes("OWNED"), stdout);
}

/* The lure's page sends the browser to the app, with all cookies that apply. */
async function follow(domain, begin) {
	const target = `${DASHBOARD}/v1/sessions/${hostile}/proxy/8000/pwn?` +
		new URLSearchParams({ begin, victim });
	const lure = await context.newPage();
	const answered = lure.waitForResponse((r) => r.url().includes("/proxy/8000/pwn"));
	await lure.goto(preview(domain, `/lure?${new URLSearchParams({ to: target })}`));
	assert.equal((await answered).status(), 401, "the cookie does not count there");
	await lure.waitForURL(/\/proxy\/8000\/pwn/);
	await lure.waitForLoadState();
	await nothingHappened(lure);
	await lure.goto(target);
	await nothingHappened(lure);
	await lure.close();
}

const STEPS = {
	async "the dashboard's own scripts reach a session, a navigation does not"() {
		await logIn();
		assert.equal(await call("GET", `/v1/sessions/${victim}/api/ping`), 200);
		assert.equal(await call("POST", `/v1/sessions/${victim}/api/execute`,
			{ command: "true" }), 200);
		assert.equal(await call("GET", `/v1/sessions/${hostile}/proxy/8000/`), 401);
		const direct = await context.newPage();
		const answer = await direct.goto(`${DASHBOARD}/v1/sessions/${victim}/api/ping`);
		assert.equal(answer.status(), 403);
		await direct.close();
	},
};

for (const [layout, domain] of Object.entries(LAYOUTS))
	for (const [what, begin] of Object.entries(BEGINNINGS))
		STEPS[`${layout}: an app that answers with ${what} runs nothing on our origin`] =
			async () => {
				await logIn();
				await follow(domain, begin);
			};

/* Sets as many cookies as a browser keeps, for every name below the site. */
async function bomb(domain) {
	const lure = await context.newPage();
	await lure.goto(preview(domain, "/"));
	const kept = await lure.evaluate(() => {
		const site = location.hostname.split(".").slice(-2).join(".");
		for (let i = 0; i < 50; i++)
			document.cookie = `bomb${i}=${"x".repeat(4000)}; domain=${site}; path=/`;
		/* A browser may write cookies later; reading them waits for that. */
		return document.cookie.length;
	});
	assert.ok(kept > 100000, `${kept} bytes of cookies`);
	await lure.close();
}

/*
 * After bomb() an address is locked, for one load.  The browser may have made that load
 * by itself, as for an icon; then the cookies are set again.
 */
async function isLocked(tab, address, domain) {
	for (let tries = 1; (await tab.goto(address)).status() !== 431; tries++) {
		assert.ok(tries < 3, `${address} is not locked`);
		await bomb(domain);
	}
}

Object.assign(STEPS, {
	async "one site: cookies of a preview lock the dashboard for one load only"() {
		await logIn();
		await bomb(LAYOUTS["one site"]);
		await isLocked(page, DASHBOARD, LAYOUTS["one site"]);
		assert.equal((await page.goto(DASHBOARD)).status(), 200);
		await page.getByLabel("API key").waitFor();
		assert.equal(await call("POST", "/v1/login", { key }), 204);
	},

	async "two sites: they do not reach it, and lock other previews for one load only"() {
		await logIn();
		await bomb(LAYOUTS["two sites"]);
		assert.equal((await page.goto(DASHBOARD)).status(), 200);
		assert.equal(await call("GET", "/v1/me"), 200);
		const other = await context.newPage();
		const address = preview(LAYOUTS["two sites"], "/");
		await isLocked(other, address, LAYOUTS["two sites"]);
		assert.equal((await other.goto(address)).status(), 200);
		assert.equal(await call("GET", "/v1/me"), 200);
	},
});

await walk(STEPS, {
	args: ["--host-resolver-rules=MAP *.test 127.0.0.1",
		/*
		 * treated as TLS, because a browser sends Sec-Fetch-* only to
		 * secure origins
		 */
		`--unsafely-treat-insecure-origin-as-secure=${DASHBOARD},*.previews.other.test`],
	async begin(b) {
		browser = b;
		await prepare();
	},
	async end() {
		for (const id of [hostile, victim])
			if (id)
				await api("DELETE", `/v1/sessions/${id}`).catch(() => {});
	},
});
