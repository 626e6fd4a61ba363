/* socket.js: the WebSocket of a session's terminal. */

const PIECE_MAX = 16384; /* bytes of a message; a paste may be long */

/* The page's own address, whatever name the service has for itself. */
function socketUrl(made, cols, rows) {
	const url = new URL(made.url);
	url.protocol = location.protocol === "https:" ? "wss:" : "ws:";
	url.host = location.host;
	url.searchParams.set("cols", cols);
	url.searchParams.set("rows", rows);
	return url;
}

/*
 * Connects with the ticket `made`.  output() gets text, ready() is called when
 * the past has been sent, over() at the end: with a reason if the service gave
 * one, with null if the connection was lost.
 */
export function openSocket(made, [cols, rows], { output, ready, over }) {
	const socket = new WebSocket(socketUrl(made, cols, rows));
	const decoder = new TextDecoder();
	let end = null;
	socket.binaryType = "arraybuffer";
	socket.addEventListener("message", ({ data }) => {
		if (typeof data !== "string") {
			output(decoder.decode(data, { stream: true }));
			return;
		}
		const message = JSON.parse(data);
		if (message.type === "exit")
			end = `The shell has ended (${message.signal ?? `exit ${message.code}`}).`;
		else if (message.type === "error")
			end = message.message;
		else if (message.type === "ready")
			ready();
	});
	socket.addEventListener("close", () => over(end));
	return {
		send(typed) {
			const bytes = new TextEncoder().encode(typed);
			for (let at = 0; at < bytes.length && socket.readyState === 1; at += PIECE_MAX)
				socket.send(bytes.subarray(at, at + PIECE_MAX));
		},
		tell: (message) => socket.readyState === 1 && socket.send(JSON.stringify(message)),
		close: () => socket.close(),
	};
}
