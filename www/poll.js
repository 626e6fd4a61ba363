/* poll.js: doing something again and again while somebody looks. */

/*
 * Calls work(signal) now and `interval()` milliseconds after each end, not
 * while the page is hidden.  A failure is told once, until one succeeds.
 * `now` starts over at once, `stop` ends it and whatever is under way.
 */
export function poll(work, interval, fail) {
	let timer = null;
	let controller = null;
	let failing = false;
	let stopped = false;

	async function run() {
		clearTimeout(timer);
		controller?.abort();
		const mine = new AbortController();
		controller = mine;
		try {
			await work(mine.signal);
			failing = false;
		} catch (error) {
			if (!mine.signal.aborted && !failing) {
				failing = true;
				fail(error);
			}
		}
		if (!stopped && controller === mine && !document.hidden)
			timer = setTimeout(run, interval());
	}

	function seen() {
		if (!document.hidden)
			run();
	}

	document.addEventListener("visibilitychange", seen);
	run();
	return {
		now: run,
		stop() {
			stopped = true;
			clearTimeout(timer);
			controller.abort();
			document.removeEventListener("visibilitychange", seen);
		},
	};
}
