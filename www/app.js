/*
 * app.js: which view is shown, who is logged in, and what went wrong.
 *
 * A view is a function (main, context, ...captures of its route) that fills
 * `main` and returns what ends it: timers, requests, streams.
 */
import * as api from "./api.js";
import { el, text } from "./dom.js";
import { keepTimesTrue } from "./format.js";
import { loginView } from "./login.js";
import { sessionView } from "./session.js";
import { sessionsView } from "./sessions.js";

const ROUTES = [
	[/^\/sessions$/, sessionsView],
	[/^\/sessions\/([a-z0-9]{20})$/, sessionView],
	[/^\/login$/, loginView],
];
const HOME = "/sessions";
const LOGIN = "/login";
const RETRY_MS = 1500;

const main = document.getElementById("main");
const notices = document.getElementById("notices");
let me = null;
let wanted = HOME; /* where a login leads */
let endView = () => {};
let why = null;

function route() {
	const hash = location.hash.startsWith("#/") ? location.hash.slice(1) : HOME;
	const [path, query] = hash.split("?");
	return { path, query: new URLSearchParams(query) };
}

/* Shows the view at `path` and, when it is there, why. */
function go(path, error = null) {
	why = error;
	if (location.hash === `#${path}`)
		show();
	else
		location.hash = path;
}

/* ---- errors and messages */

function clearNotices() {
	notices.replaceChildren();
}

/* Shows an error; returns a function that removes it, unless another one is shown. */
function fail(error) {
	if (error.name === "AbortError" || (error.status === 401 && me === null))
		return () => {};
	const facts = [error.code, error.requestId && `request ${error.requestId}`]
		.filter(Boolean).join(" \u00b7 ");
	const notice = el("div", { class: "notice" },
		el("div", {},
			el("strong", { text: error.title ?? "Something went wrong" }),
			el("p", { text: error.detail ?? error.message ?? "" }),
			facts ? el("p", { class: "facts", text: facts }) : null),
		el("button", {
			type: "button", class: "quiet small", text: "Dismiss",
			on: { click: clearNotices },
		}));
	notices.replaceChildren(notice);
	if (!(error instanceof api.ApiError))
		console.error(error);
	return () => notice.remove();
}

function say(message) {
	const status = document.getElementById("status");
	status.textContent = "";
	requestAnimationFrame(() => { status.textContent = message; });
}

/* ---- the login */

function setMe(identity) {
	me = identity;
	document.getElementById("who").hidden = me === null;
	document.getElementById("nav").hidden = me === null;
	if (me !== null) {
		const name = [me.org, me.user, me.bot].filter(Boolean).join(" / ");
		text(document.getElementById("who-name"), name);
		document.getElementById("who-name").title =
			`Scope: ${me.scope}, key: ${me.keyId}`;
	}
}

async function enter(key) {
	await api.logIn(key);
	setMe(await api.me());
	go(wanted);
}

async function leave() {
	try {
		await api.logOut();
	} catch (error) {
		if (error.status !== 401) {
			fail(error);
			return;
		}
	}
	setMe(null);
	wanted = HOME;
	say("Logged out");
	go(LOGIN);
}

/* ---- views */

function show() {
	const { path, query } = route();
	if (me === null && path !== LOGIN) {
		wanted = location.hash.slice(1) || HOME;
		go(LOGIN, why);
		return;
	}
	if (me !== null && path === LOGIN) {
		go(HOME);
		return;
	}
	const found = ROUTES.map(([pattern, view]) => [path.match(pattern), view])
		.find(([match]) => match !== null);
	if (found === undefined) {
		go(HOME);
		return;
	}
	const [match, view] = found;
	endView();
	clearNotices();
	main.replaceChildren();
	main.dataset.view = view.name;
	endView = view(main, { me, query, go, fail, say, enter },
		...match.slice(1)) ?? (() => {});
	document.getElementById("nav-sessions")
		.setAttribute("aria-current", path === HOME ? "page" : "true");
	main.querySelector("[data-focus]")?.focus({ preventScroll: true });
	window.scrollTo(0, 0);
	if (why !== null)
		fail(why);
	why = null;
}

/*
 * Learns who is logged in.  Only a 401 says that nobody is: while the service
 * restarts, or cannot be reached, the page waits and asks again.
 */
async function identify() {
	for (let told = false; ; told = true) {
		try {
			setMe(await api.me());
			clearNotices();
			return;
		} catch (error) {
			if (!error.retryable && error.status < 500) {
				if (error.status !== 401)
					why = error;
				return;
			}
			if (!told)
				fail(error);
			text(main, "Waiting for the service. This page goes on by itself.");
		}
		await new Promise((resolve) => { setTimeout(resolve, RETRY_MS); });
	}
}

async function start() {
	api.onUnauthenticated(() => {
		if (me === null)
			return;
		setMe(null);
		wanted = location.hash.slice(1) || HOME;
		go(LOGIN, new api.ApiError(0, {
			title: "Your login has ended", detail: "Log in again to go on.",
		}));
	});
	document.getElementById("logout").addEventListener("click", leave);
	document.getElementById("skip").addEventListener("click", (event) => {
		event.preventDefault();
		main.focus();
	});
	keepTimesTrue();
	await identify();
	window.addEventListener("hashchange", show);
	show();
}

start();
