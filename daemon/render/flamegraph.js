/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Zoom, search and keyboard. The picture is complete without this script but for frames that are too
 * narrow to draw, which are in the element `narrow` (flamegraph_narrow.h) and get rectangles when they
 * are wide enough. Frames are in pre-order in the document, so their depths give the tree. Positions
 * are counted in samples, and visible frames are laid out again for the window's width.
 */
(function () {
"use strict";

const svg = document.currentScript ? document.currentScript.closest("svg.flamegraph")
	: document.documentElement;
const standalone = svg === document.documentElement;
const SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
const MARGIN = 16, PADDING = 4, BASELINE = 13, NARROWEST = 0.3, ROW_NARROWEST = 3, WIDTH_MIN = 400;
const GAP = 0.5, GAP_FROM = 3, GAP_TO_PLACE = 14;
const layer = svg.querySelector(".frames"), labels = svg.querySelector(".labels");
const head = svg.querySelector(".head"), subtitle = svg.querySelector(".subtitle");
const heading = svg.querySelector(".head .title");
const row = +layer.dataset.row, foot = svg.querySelector(".foot");
const binaries = JSON.parse(svg.querySelector(".binaries").textContent);
const files = JSON.parse(svg.querySelector(".files").textContent);
/* Of two profiles, base first: the samples that are 100 %, and their periods. Totals are weights then. */
const difference = JSON.parse((svg.querySelector(".difference") || { textContent: "null" }).textContent);
const MARKS = { p: "+ ", m: "- " };
const headingText = heading.textContent, subtitleText = subtitle.textContent;
const drawnHeight = svg.viewBox.baseVal.height;
/* What a sample stands for, for other sources than CPU time: nanoseconds, bytes or a number of events. */
const period = +(svg.dataset.period || 0), isBytes = svg.dataset.unit === "bytes";
const noun = svg.dataset.noun || (period ? "" : "sample");

function make(parent, name, attributes, text) {
	const element = document.createElementNS(SVG, name);
	for (const key in attributes)
		element.setAttribute(key, attributes[key]);
	if (text !== undefined)
		element.textContent = text;
	parent.appendChild(element);
	return element;
}

function newFrame(name, depth, parent, properties) {
	const f = { name, depth, parent, rect: null, y: 0, mark: "", line: null, binary: null,
		elided: false, inlined: false, total: 0, self: 0, totals: [0, 0], selves: [0, 0],
		children: [], start: 0, state: "gone", x: 0, width: 0, hit: false, ...properties };
	if (parent)
		parent.children.push(f);
	return f;
}

function readDrawn(rect, bottom, path) {
	const y = +rect.getAttribute("y"), look = rect.getAttribute("class");
	const depth = (bottom - y) / row;
	return path[depth] = newFrame(rect.firstElementChild.textContent.split("\n")[0], depth,
		depth > 0 ? path[depth - 1] : null, {
			rect, y, look, state: "", elided: look[0] === "e",
			inlined: look[0] === "i" || rect.dataset.i === "1", mark: MARKS[look[0]] || "",
			line: rect.dataset.l ? rect.dataset.l.split(":") : null,
			total: +rect.dataset.n, self: +(rect.dataset.s || 0),
			totals: [+(rect.dataset.o || 0), +(rect.dataset.c || 0)],
			selves: [+(rect.dataset.q || 0), +(rect.dataset.d || 0)],
			binary: binaries[rect.dataset.b],
		});
}

/* A frame that is not drawn and all that stands on it, as in flamegraph_narrow.h. */
function readNarrow(looks, stack, parent) {
	const read = [], path = [parent], size = difference ? 7 : 3;
	for (let i = 1; i < stack.length; i += size) {
		const [name, look, binary, line, inlined] = looks[stack[i]], level = stack[i + 1];
		read.push(path[level] = newFrame(name, parent.depth + level, path[level - 1], {
			look, elided: look[0] === "e", inlined: inlined === 1, mark: MARKS[look[0]] || "",
			line: line ? line.split(":") : null, binary: binaries[binary],
			self: stack[i + 2], total: stack[i + 2], isNarrow: true,
			totals: [stack[i + 3] || 0, stack[i + 5] || 0],
			selves: [stack[i + 4] || 0, stack[i + 6] || 0],
		}));
	}
	for (let i = read.length - 1; i > 0; i--)
		read[i].parent.total += read[i].total;
	return read;
}

/* What is drawn stands first, then what is narrow, then grey frames, then the frame's own samples. */
function place(f) {
	const children = f.children.filter(c => !c.elided);
	let at = f.start;
	for (const c of [...children.filter(c => !c.isNarrow), ...children.filter(c => c.isNarrow)]) {
		c.start = at;
		at += c.total;
	}
	for (const c of f.children)
		if (c.elided)
			c.start = f.start + f.total - f.self - c.total;
	f.leftOut = f.elided ? 0 : f.total - f.self - (at - f.start);
}

function readFrames() {
	const read = [], path = [], narrowOf = new Map();
	const narrow = JSON.parse(svg.querySelector(".narrow").textContent);
	const bottom = +layer.firstElementChild.getAttribute("y");
	let drawn = 0;
	for (const stack of narrow.frames) {
		if (!narrowOf.has(stack[0]))
			narrowOf.set(stack[0], []);
		narrowOf.get(stack[0]).push(stack);
	}
	for (const rect of layer.children) {
		const f = readDrawn(rect, bottom, path);
		read.push(f);
		if (f.elided)
			continue;
		for (const stack of narrowOf.get(drawn++) || [])
			for (const n of readNarrow(narrow.looks, stack, f))
				read.push(n);
	}
	read.forEach((f, index) => {
		f.index = index;
		place(f);
	});
	return read;
}

const frames = readFrames();
const root = frames[0];
const byRect = new Map(frames.filter(f => f.rect).map(f => [f.rect, f]));
/* Samples in frames that the file lacks: a search cannot tell whether they match. */
const leftOut = frames.reduce((sum, f) => sum + f.leftOut, 0);
const drawnBottom = root.y + row, TOP = 96;
let view = root, current = null, hovered = null, term = "", width = 0, column = 7.23, shownRows = 0;

/* --- words and figures --- */

function share(part, whole) {
	return (whole > 0 ? 100 * part / whole : 0).toFixed(2) + " %";
}

function count(n) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/* Of other sources than CPU time: what the samples stand for, as in caption.c. */
function amount(n, of = period) {
	if (!of)
		return count(n);
	if (noun)
		return count(n * of);
	if (isBytes)
		return bytes(n * of);
	const ns = n * of;
	return ns >= 1e9 - 500 ? seconds(ns / 1e9) + " s" : (ns / 1e6).toFixed(3) + " ms";
}

function bytes(value) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;
	if (value < 1024)
		return `${value} B`;
	for (; unit + 1 < units.length && value >= 1023.95; unit++)
		value /= 1024;
	const [whole, part] = value.toFixed(1).split(".");
	return `${count(whole)}.${part} ${units[unit]}`;
}

function seconds(value) {
	const [whole, part] = value.toFixed(3).split(".");
	return count(whole) + "." + part;
}

function columns(character) {
	const point = character.codePointAt(0);
	return point >= 0x1100 && point !== 0x2026 && point !== 0xfffd ? 2 : 1;
}

function closing(text, at) {
	const closes = text[at] === "<" ? ">" : ")";
	for (let i = at, depth = 0; i < text.length; i++) {
		if (text[i] === text[at])
			depth++;
		else if (text[i] === closes && text[i - 1] !== "-" && --depth === 0)
			return i;
	}
	return -1;
}

/* A long name without template arguments and parameters, as in short_name.c. */
function shorten(text) {
	let short = "";
	for (let i = 0; i < text.length && text[0] !== "[";) {
		const begins = text[i] === "<" ? /[\w:]$/.test(short) && !/operator<?$/.test(short)
			: text[i] === "(" && !/^$|operator$/.test(short) && !text.startsWith("(anonymous namespace)", i);
		const end = begins ? closing(text, i) : -1;
		if (end >= 0 && text[i] === "(" && !/^(::|#)/.test(text.slice(end + 1, end + 3)))
			return short;
		if (end < 0)
			short += text[i];
		i = (end < 0 ? i : end) + 1;
	}
	return short || text;
}

function elide(text, room) {
	let used = 0, fits = "";
	if (text.length * 2 <= room)
		return text;
	for (const character of text) {
		used += columns(character);
		if (used > room) {
			let kept = Array.from(fits), wide = kept.reduce((n, c) => n + columns(c), 0);
			while (kept.length > 0 && wide > room - 1)
				wide -= columns(kept.pop());
			return kept.join("") + "\u2026";
		}
		fits += character;
	}
	return text;
}

/* The middle goes, since both ends of a long name or path tell something. */
function elideMiddle(text, room) {
	const characters = Array.from(text);
	if (characters.length <= room)
		return text;
	const ends = Math.max(1, Math.floor((room - 1) / 2));
	return characters.slice(0, ends).join("") + "\u2026" + characters.slice(-ends).join("");
}

/* For text in the proportional font, whose width only the browser knows. */
function fit(element, text, room) {
	element.textContent = text;
	for (let n = text.length; n > 4 && element.getComputedTextLength() > room;) {
		n = Math.min(n - 1, Math.floor(n * room / element.getComputedTextLength()));
		element.textContent = elideMiddle(text, n);
	}
}

/* --- layout --- */

function pathTo(f) {
	const path = [];
	for (; f; f = f.parent)
		path[f.depth] = f;
	return path;
}

/* A grey frame is zoomed to for the narrow frames that it stands for, which are in its row. */
function isInView(f) {
	return f.depth > view.depth - (view.elided ? 1 : 0) && f !== view && f.start >= view.start &&
		f.start + f.total <= view.start + view.total;
}

/* Rows that hold next to nothing would make the picture high and its rest small. */
function findRows(scale) {
	const widths = [];
	for (const f of frames)
		if (isInView(f) && !f.elided && f.total * scale >= NARROWEST)
			widths[f.depth] = (widths[f.depth] || 0) + f.total * scale;
	let depth = view.depth;
	while (widths[depth + 1] >= ROW_NARROWEST)
		depth++;
	return depth;
}

function setState(f, state) {
	if (state === f.state)
		return;
	if (f.isNarrow && state === "gone") {
		byRect.delete(f.rect);
		f.rect.remove();
		f.rect = null;
	} else if (f.isNarrow && !f.rect) {
		f.rect = make(layer, "rect", { class: f.look + (f.hit ? " hit" : ""), height: row - 1 });
		byRect.set(f.rect, f);
	}
	if (f.rect) {
		f.rect.classList.remove("dim", "gone");
		if (state)
			f.rect.classList.add(state);
	}
	f.state = state;
}

function lay(f, ancestors, scale, rows) {
	let state = "", x = (f.start - view.start) * scale, w = f.total * scale;
	const y = bottom() - (f.depth + 1) * row;
	if (f === view || ancestors.has(f)) {
		state = f === view ? "" : "dim";
		x = 0;
		w = width - 2 * MARGIN;
	} else if (!isInView(f) || w < NARROWEST || f.depth > rows + (f.elided ? 1 : 0)) {
		state = "gone";
	}
	setState(f, state);
	if (state === "gone" || (f.rect.hasAttribute("x") && x === f.x && w === f.width && y === f.y))
		return;
	Object.assign(f, { x, y, width: w });
	f.rect.setAttribute("x", +(MARGIN + x).toFixed(2));
	f.rect.setAttribute("y", y);
	f.rect.setAttribute("width", +(w > GAP_FROM ? w - GAP : w).toFixed(2));
}

function label(fragment, f) {
	const room = Math.floor((f.width - 2 * PADDING) / column);
	if (f.state === "gone" || room < 3 || (f.elided && f === view))
		return;
	const name = f.mark.length + f.name.length > room ? f.short ||= shorten(f.name) : f.name;
	make(fragment, "text", { x: +(MARGIN + f.x + PADDING).toFixed(2), y: f.y + BASELINE },
		elide(f.mark + name, room));
}

function layout() {
	const scale = view.total > 0 ? (width - 2 * MARGIN) / view.total : 0;
	const ancestors = new Set(pathTo(view).slice(0, -1));
	const fragment = document.createDocumentFragment();
	const rows = findRows(scale);
	setHeight(rows + 1 + (frames.some(f => f.depth > rows && isInView(f)) ? 1 : 0));
	for (const f of frames) {
		lay(f, ancestors, scale, rows);
		label(fragment, f);
	}
	labels.replaceChildren(fragment);
	drawRing();
	drawHeading();
}

/* The lower edge of the root, when so many rows are shown. */
function bottom() {
	return TOP + shownRows * row;
}

function setHeight(rows) {
	shownRows = rows;
	const taller = bottom() - drawnBottom;
	svg.setAttribute("viewBox", `0 0 ${width} ${drawnHeight + taller}`);
	svg.style.height = drawnHeight + taller + "px";
	foot.setAttribute("transform", `translate(0 ${taller})`);
}

/* The picture is as wide as its room, and one of its units is one pixel. */
function resize() {
	const room = Math.max(WIDTH_MIN, Math.floor(svg.getBoundingClientRect().width));
	if (room === width)
		return;
	width = room;
	layout();
}

function measure() {
	const probe = make(labels, "text", {}, "M".repeat(40));
	column = probe.getComputedTextLength() / 40 || column;
	probe.remove();
}

/* --- heading: where we are, what is under the pointer, search --- */

const crumbs = make(head, "text", { class: "crumbs", x: MARGIN, y: 50 });
const name = make(head, "text", { class: "name", x: MARGIN, y: 71 });
const source = make(head, "text", { class: "source", y: 71 });
const figures = make(head, "text", { class: "figures", x: MARGIN, y: 88 });
const hint = make(head, "text", { class: "hint", x: MARGIN, y: 71 });
const box = make(head, "foreignObject", { class: "search", y: 11, width: 240, height: 28 });
const matched = make(head, "text", { class: "share", y: 50 });
const input = document.createElementNS(XHTML, "input");
input.setAttribute("type", "text");
input.setAttribute("placeholder", "Search, also by regular expression");
input.setAttribute("aria-label", "Search frames by text or regular expression");
input.setAttribute("spellcheck", "false");
box.appendChild(input);
matched.setAttribute("role", "status");

function crumb(text, target) {
	const span = make(crumbs, "tspan", { class: "crumb", tabindex: 0, role: "link" }, text);
	span.addEventListener("click", () => zoom(target));
	span.addEventListener("keydown", event => {
		if (event.key === "Enter")
			zoom(target);
	});
	return span;
}

function drawCrumbs(room) {
	const path = pathTo(view).slice(1, -1);
	/* As many of the nearest ancestors as fit, so that the way back is at hand. */
	for (let shown = Math.min(path.length, 12); ; shown--) {
		crumbs.replaceChildren();
		crumb("\u2715 Reset zoom", root);
		if (shown < path.length)
			make(crumbs, "tspan", { dx: 8 }, "\u2026");
		for (const f of shown > 0 ? path.slice(-shown) : []) {
			make(crumbs, "tspan", { dx: 8 }, "\u203a");
			crumb(elideMiddle(f.name, 24), f).setAttribute("dx", 8);
		}
		make(crumbs, "tspan", { dx: 8 }, "\u203a");
		make(crumbs, "tspan", { dx: 8 }, elideMiddle(view.name, 40));
		if (shown === 0 || crumbs.getBBox().width <= room)
			return;
	}
}

function drawHeading() {
	const zoomed = view !== root;
	box.setAttribute("x", width - MARGIN - 240);
	matched.setAttribute("x", width - MARGIN);
	fit(heading, headingText, width - 2 * MARGIN - 260);
	drawMatched();
	const room = width - 2 * MARGIN - (matched.textContent ? matched.getComputedTextLength() + 20 : 0);
	fit(subtitle, zoomed ? "" : subtitleText, room);
	if (zoomed)
		drawCrumbs(room);
	else
		crumbs.replaceChildren();
	show(hovered || current);
}

/* Where in the source; of several lines the hottest, with its part of the frame's samples. */
function locate(f) {
	const parts = f.inlined ? ["inlined"] : [];
	if (f.line) {
		const [file, line, lines, samples] = f.line;
		const where = files[file] + (line > 0 ? ":" + line : "");
		parts.push(!lines ? where : lines === "+" ? `${where} and other lines`
			: `${where}, hottest of ${lines} lines (${share(samples, difference ? f.totals[1] : f.total)})`);
	}
	return parts.join("  \u00b7  ");
}

function signed(value, digits) {
	const text = Math.abs(value).toFixed(digits);
	return (+text === 0 ? "" : value < 0 ? "-" : "+") + text;
}

function shareOfSide(n, side) {
	return difference.wholes[side] > 0 ? 100 * n / difference.wholes[side] : 0;
}

/* "total 12.34 % → 15.00 %, +2.66 points (+21.6 %)": from the base to the compared. */
function change(what, samples) {
	const [base, compared] = samples.map(shareOfSide);
	const ratio = base > 0 && compared > 0 ? signed(100 * (compared - base) / base, 1) + " %"
		: base > 0 ? "gone" : compared > 0 ? "new" : "none";
	return `${what} ${base.toFixed(2)} % \u2192 ${compared.toFixed(2)} %, ` +
		`${signed(compared - base, 2)} points (${ratio})`;
}

function describeSamples(f) {
	if (difference && !f.elided)
		return [change("total", f.totals), change("self", f.selves),
			f.totals.map((n, side) => amount(n, (difference.periods || [])[side]))
				.join(" \u2192 ") + (noun ? ` ${noun}s` : "")];
	if (difference)
		return [share(f.total, root.total)];
	const parts = [];
	if (!f.elided)
		parts.push(`self ${amount(f.self)} (${share(f.self, root.total)})`);
	parts.push(`total ${amount(f.total)} (${share(f.total, root.total)})`);
	return parts;
}

function describe(f) {
	const parts = describeSamples(f);
	if (view !== root && f.depth >= view.depth)
		parts.push(`${share(f.total, view.total)} of zoomed`);
	if (f.binary) {
		if (f.binary[0])
			parts.push(f.binary[0]);
		if (f.binary[1])
			parts.push(`build-id ${f.binary[1]}`);
	}
	return parts.join("  \u00b7  ");
}

/* The source line has what the name leaves of the row, and a long name leaves it half. */
function showName(f, room) {
	const where = f ? locate(f) : "";
	fit(source, where, room / 2);
	const rest = room - (where ? source.getComputedTextLength() + GAP_TO_PLACE : 0);
	name.textContent = f ? elideMiddle(f.name, Math.floor(rest / column)) : "";
	const taken = name.getComputedTextLength() + GAP_TO_PLACE;
	source.setAttribute("x", MARGIN + taken);
	fit(source, where, room - taken);
}

function show(f) {
	const room = width - 2 * MARGIN;
	showName(f, room);
	fit(figures, f ? describe(f) : "", room);
	fit(hint, f ? "" : "Click a frame to zoom, press / to search, arrow keys and Enter to move, Esc to go back.", room);
}

/* --- zoom and keyboard --- */

/* What was left out of the file cannot be shown. */
function hasNarrow(f) {
	return f.parent.children.some(c => c.isNarrow && !c.elided);
}

function zoom(f) {
	if (f.elided && !hasNarrow(f))
		f = f.parent;
	view = f;
	const before = f.y;
	layout();
	/* The frame stays where the pointer is. */
	if (standalone && f.y !== before)
		window.scrollBy(0, f.y - before);
	remember();
}

const ring = make(svg, "rect", { class: "ring", height: row - 1 });
layer.after(ring);

function drawRing() {
	const on = current && current.state !== "gone";
	ring.setAttribute("class", on ? "ring on" : "ring");
	if (!on)
		return;
	ring.setAttribute("x", MARGIN + current.x);
	ring.setAttribute("y", current.y);
	ring.setAttribute("width", Math.max(2, current.width));
}

/* One stop for the Tab key; which frame is current is told by aria-activedescendant. */
function select(f) {
	if (current && current.rect)
		for (const attribute of ["id", "role", "aria-label", "aria-level"])
			current.rect.removeAttribute(attribute);
	current = f;
	f.rect.setAttribute("id", "current-frame");
	f.rect.setAttribute("role", "treeitem");
	f.rect.setAttribute("aria-level", f.depth + 1);
	f.rect.setAttribute("aria-label", [f.name, locate(f), describe(f)].filter(Boolean).join(", "));
	layer.setAttribute("aria-activedescendant", "current-frame");
	drawRing();
	show(f);
}

function isShown(f) {
	return f && f.state !== "gone";
}

function neighbour(f, step) {
	for (let i = f.index + step; i >= 0 && i < frames.length; i += step)
		if (frames[i].depth === f.depth && isShown(frames[i]))
			return frames[i];
	return null;
}

function widest(f) {
	return f.children.filter(isShown).reduce((a, b) => a && a.total >= b.total ? a : b, null);
}

function move(key) {
	const f = isShown(current) ? current : view;
	if (!isShown(current))
		return f;
	switch (key) {
	case "ArrowLeft":
		return neighbour(f, -1);
	case "ArrowRight":
		return neighbour(f, 1);
	case "Home":
		return root;
	default:
		return key === "ArrowDown" ? f.parent : widest(f);
	}
}

function escape() {
	if (term) {
		input.value = "";
		search("");
	} else if (view !== root) {
		zoom(root);
	}
	input.blur();
}

function onKey(event) {
	const find = event.key === "f" && (event.ctrlKey || event.metaKey) && standalone;
	if (event.key === "Escape") {
		escape();
	} else if (event.target === input) {
		return;
	} else if (find || (event.key === "/" && !event.ctrlKey && !event.metaKey)) {
		input.focus();
		input.select();
	} else if (event.ctrlKey || event.metaKey || event.altKey) {
		return;
	} else if (/^Arrow|^Home$/.test(event.key)) {
		const next = move(event.key);
		layer.focus({ preventScroll: true });
		if (next)
			select(next);
	} else if ((event.key === "Enter" || event.key === " ") && isShown(current) &&
		!event.target.closest(".crumb")) {
		zoom(current);
	} else {
		return;
	}
	event.preventDefault();
}

/* --- search --- */

/* The text as it stands, in any case, or as a regular expression where it is one. */
function matcher(text) {
	const lower = text.toLowerCase();
	let expression = null;
	try {
		expression = new RegExp(text, "i");
		/* While "a|" is being typed it would match everything. */
		if (expression.test(""))
			expression = null;
	} catch (error) {
		expression = null;
	}
	return string => string.toLowerCase().includes(lower) ||
		(expression !== null && expression.test(string));
}

function search(text) {
	const matches = text ? matcher(text) : () => false;
	const known = new Map();
	term = text;
	for (const f of frames) {
		let hit = known.get(f.name);
		if (hit === undefined)
			known.set(f.name, hit = matches(f.name));
		hit = hit && !f.elided;
		if (hit !== f.hit && f.rect)
			f.rect.classList.toggle("hit", hit);
		f.hit = hit;
	}
	layer.classList.toggle("searching", text !== "");
	drawHeading();
	remember();
}

/* The samples in `of` below or in a match, each counted once however many matches it is in. */
function matchedSamples(of) {
	let sum = 0, covered = -1;
	for (const f of frames) {
		if (covered >= 0 && f.depth > covered)
			continue;
		covered = f.hit ? f.depth : -1;
		if (f.hit)
			sum += Math.max(0, Math.min(f.start + f.total, of.start + of.total) -
				Math.max(f.start, of.start));
	}
	return sum;
}

/* Of two profiles: the shares that frames below or in a match have on both sides. */
function matchedShares() {
	const sums = [0, 0];
	let covered = -1;
	for (const f of frames) {
		if (covered >= 0 && f.depth > covered)
			continue;
		covered = f.hit ? f.depth : -1;
		if (f.hit)
			f.totals.forEach((n, side) => sums[side] += n);
	}
	return sums.map(shareOfSide).map(n => n.toFixed(2) + " %").join(" \u2192 ");
}

function drawMatched() {
	let text = "";
	if (term) {
		text = `matched: ${difference ? matchedShares() : share(matchedSamples(root), root.total)}`;
		if (view !== root)
			text += ` (${share(matchedSamples(view), view.total)} of zoomed)`;
		if (leftOut > 0)
			text += `, ${share(leftOut, root.total)} not searched`;
	}
	matched.textContent = text;
}

/* --- the address remembers the view --- */

function remember() {
	if (!standalone)
		return;
	const state = new URLSearchParams();
	if (view !== root)
		state.set("frame", view.index);
	if (term)
		state.set("search", term);
	try {
		history.replaceState(null, "", "#" + state);
	} catch (error) {
		/* Some origins may not change their address; all else works there. */
	}
}

function recall() {
	const state = new URLSearchParams(standalone ? location.hash.slice(1) : "");
	const f = frames[+state.get("frame")];
	if (f && (!f.elided || hasNarrow(f)))
		view = f;
	input.value = state.get("search") || "";
	if (input.value)
		search(input.value);
}

/* --- begin --- */

function listen() {
	const keys = standalone ? window : svg;
	layer.addEventListener("click", event => {
		const f = byRect.get(event.target.closest("rect"));
		if (!f)
			return;
		layer.focus({ preventScroll: true });
		select(f.elided ? f.parent : f);
		zoom(f);
	});
	layer.addEventListener("mouseover", event => {
		hovered = byRect.get(event.target.closest("rect")) || null;
		show(hovered || current);
	});
	layer.addEventListener("mouseleave", () => {
		hovered = null;
		show(current);
	});
	input.addEventListener("input", () => search(input.value));
	keys.addEventListener("keydown", onKey);
	window.addEventListener("resize", resize);
	if (standalone)
		window.addEventListener("scroll", () =>
			head.setAttribute("transform", `translate(0 ${Math.max(0, window.scrollY)})`));
}

svg.classList.add("live");
svg.style.width = "100%";
svg.setAttribute("preserveAspectRatio", "xMinYMin meet");
layer.setAttribute("tabindex", 0);
layer.setAttribute("role", "tree");
layer.setAttribute("aria-label", headingText);
labels.setAttribute("aria-hidden", "true");
/* The heading says the same at once; the browser's own tooltips would cover the frames. */
for (const rect of layer.children)
	rect.firstElementChild.remove();
if (!standalone)
	svg.querySelector("title").remove();
measure();
listen();
width = 0;
recall();
resize();
if (standalone && view === root)
	window.scrollTo(0, document.documentElement.scrollHeight);
}());
