/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of the picture. It is complete without its script but for frames that are too narrow to draw,
 * which are in the element `narrow` (flamegraph_narrow.h) and get rectangles when they are wide enough.
 * Frames are in pre-order in the document, so their depths give the tree. Positions are counted in samples.
 *
 * This file, flamegraph_text.js, flamegraph_layout.js and flamegraph.js are one function, which begins here
 * and ends there, so that several pictures in a page share no names.
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
