/*
 * cells.js: draws cells of text, each with a style, as spans.
 *
 * The terminal and the output of commands use it.  A style is what vt.js makes
 * of SGR sequences; here its fields become classes and colours, never markup.
 */
import { el } from "./dom.js";

const FLAGS = ["bold", "dim", "italic", "underline", "strike", "hidden", "stderr"];

/* The first sixteen are the style sheet's; the others are computed. */
function colorOf(color) {
	if (typeof color === "object")
		return `rgb(${color.r}, ${color.g}, ${color.b})`;
	if (color >= 232)
		return `rgb(${Array(3).fill(8 + (color - 232) * 10).join(", ")})`;
	const part = (n) => (n === 0 ? 0 : 55 + 40 * n);
	const n = color - 16;
	return `rgb(${part(Math.floor(n / 36))}, ${part(Math.floor(n / 6) % 6)}, ${part(n % 6)})`;
}

function paint(span, what, color) {
	if (color === undefined)
		return;
	if (typeof color === "number" && color < 16)
		span.classList.add(`${what}-${color}`);
	else
		span.style[what === "fore" ? "color" : "backgroundColor"] = colorOf(color);
}

/* Text of one style; `extra` are more classes. */
export function spanOf(chars, style, extra = []) {
	const span = el("span", { text: chars });
	for (const flag of FLAGS)
		if (style[flag])
			span.classList.add(flag);
	const bright = style.bold && style.fore < 8 ? style.fore + 8 : style.fore;
	paint(span, "fore", style.inverse ? style.back : bright);
	paint(span, "back", style.inverse ? bright : style.back);
	if (style.inverse)
		span.classList.add("inverse");
	span.classList.add(...extra);
	return span;
}

/* One span for each run of cells that look alike; wide ones are apart. */
export function drawRow(node, row, cursor) {
	const spans = [];
	let from = 0;
	const flush = (to, ...extra) => {
		if (to > from)
			spans.push(spanOf(row.chars.slice(from, to).join(""), row.styles[from], extra));
		from = to;
	};
	for (let x = 0; x < row.chars.length; x++) {
		const wide = row.chars[x + 1] === "";
		if (row.styles[x] !== row.styles[from] || x === cursor || wide)
			flush(x);
		if (x === cursor || wide) {
			flush(x + (wide ? 2 : 1), ...(wide ? ["wide"] : []),
				...(x === cursor ? ["cursor"] : []));
			x = from - 1;
		}
	}
	flush(row.chars.length);
	node.replaceChildren(...spans);
}

