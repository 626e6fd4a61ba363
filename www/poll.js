/* poll.js: repeats a call while the page is visible. */

/*
 * Calls work(signal) now and `interval()` milliseconds after each end, not
 * while the page is hidden.  A failure is told once, until one succeeds: fail()
 * returns what takes its notice back, and the next success calls that.
 * `now` starts over at once, `stop` ends it and whatever is under way.
 */
export function poll(work, interval, fail) {
	let timer = null;
	let controller = null;
	let withdraw = null; /* set while it fails */
	let stopped = false;

	async function run() {
		clearTimeout(timer);
		controller?.abort();
		const mine = new AbortController();
		controller = mine;
		try {
			await work(mine.signal);
			withdraw?.();
			withdraw = null;
		} catch (error) {
			if (!mine.signal.aborted && withdraw === null)
				withdraw = fail(error) ?? (() => {});
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
