/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operates a flame graph like a user and writes a line "ok - …" or "not ok - …" for each check. */
"use strict";

const results = document.getElementById("results");
const TOTAL = 1008, MARGIN = 16;

function check(passed, what, found) {
	results.textContent += `${passed ? "ok" : "not ok"} - ${what}` +
		(passed || found === undefined ? "" : `: found ${found}`) + "\n";
}

function near(a, b) {
	return Math.abs(a - b) < 0.02;
}

function percent(part, whole) {
	return (100 * part / whole).toFixed(2) + " %";
}

class Graph {
	constructor(svg, view) {
		this.svg = svg;
		this.view = view;
		this.layer = svg.querySelector(".frames");
		this.input = svg.querySelector("input");
		/* The frames have no names now, so they are found by their samples. */
		this.rects = Array.from(this.layer.children);
	}
	named(label) {
		const text = Array.from(this.svg.querySelectorAll(".labels text"))
			.find(t => t.textContent === label);
		return text && this.rects.find(r => +r.getAttribute("y") + 13 === +text.getAttribute("y") &&
			near(+r.getAttribute("x") + 4, +text.getAttribute("x")) &&
			!r.classList.contains("gone"));
	}
	labels() {
		return Array.from(this.svg.querySelectorAll(".labels text"), t => t.textContent);
	}
	width(rect) {
		return +rect.getAttribute("width");
	}
	text(name) {
		return this.svg.querySelector("." + name).textContent;
	}
	full() {
		return this.svg.viewBox.baseVal.width - 2 * MARGIN - 0.5;
	}
	mouse(type, target) {
		target.dispatchEvent(new this.view.MouseEvent(type, { bubbles: true }));
	}
	key(key, options) {
		(this.svg.ownerDocument.activeElement || this.svg).dispatchEvent(new this.view.KeyboardEvent(
			"keydown", { key, bubbles: true, cancelable: true, ...options }));
	}
	search(text) {
		this.input.value = text;
		this.input.dispatchEvent(new this.view.Event("input", { bubbles: true }));
	}
	hits() {
		return this.rects.filter(r => r.classList.contains("hit")).length;
	}
	current() {
		return this.layer.querySelector("[role=treeitem]");
	}
}

function checkLoaded(graph) {
	check(graph.svg.classList.contains("live"), "the script has run");
	check(graph.rects.length > 50, "there are frames", graph.rects.length);
	check(near(graph.width(graph.rects[0]), graph.full()), "the root is as wide as the window",
		graph.width(graph.rects[0]));
	check(graph.svg.querySelector(".frames title") === null, "details take the place of tooltips");
}

function checkLabels(graph, when) {
	const broad = Array.from(graph.layer.children).filter(r => !r.classList.contains("gone"));
	const overflowing = Array.from(graph.svg.querySelectorAll(".labels text")).filter(t => {
		const rect = broad.find(r => +r.getAttribute("y") + 13 === +t.getAttribute("y") &&
			near(+r.getAttribute("x") + 4, +t.getAttribute("x")));
		return !rect || t.getComputedTextLength() > graph.width(rect) - 4;
	});
	check(graph.labels().length > 5, `labels are there ${when}`, graph.labels().length);
	check(overflowing.length === 0, `labels fit their frames ${when}`,
		overflowing.map(t => t.textContent).join(", "));
}

function checkZoom(graph) {
	const before = graph.rects.map(r => r.getAttribute("width"));
	const target = graph.named("lzma_code"), child = graph.named("lzma_encode");
	const other = graph.named("cc1");
	graph.mouse("click", target);
	check(near(graph.width(target), graph.full()), "a click zooms its frame to the full width",
		graph.width(target));
	check(near(graph.width(child), (graph.full() + 0.5) * 405 / 589 - 0.5),
		"what stands on it grows in proportion", graph.width(child));
	check(other.classList.contains("gone"), "what stands beside it is hidden");
	check(near(graph.width(graph.rects[0]), graph.full()) && graph.rects[0].classList.contains("dim"),
		"ancestors stay, dimmed, at the full width");
	check(graph.labels().includes("rc_shift_low") && !graph.labels().includes("cc1"),
		"labels follow", graph.labels().join(", "));
	check(/Reset zoom/.test(graph.text("crumbs")) && /xz.*lzma_code$/.test(graph.text("crumbs")),
		"the way back is shown", graph.text("crumbs"));
	checkLabels(graph, "when zoomed");

	const crumb = Array.from(graph.svg.querySelectorAll(".crumb")).find(c => c.textContent === "xz");
	graph.mouse("click", crumb);
	check(near(graph.width(graph.named("xz")), graph.full()) &&
		near(graph.width(target), (graph.full() + 0.5) * 589 / 616 - 0.5),
		"an ancestor in the way back is zoomed to", graph.width(target));
	graph.mouse("click", graph.svg.querySelector(".crumb"));
	check(graph.rects.every((r, i) => r.getAttribute("width") === before[i] &&
		!r.classList.contains("gone")), "reset restores every frame");
	check(graph.text("crumbs") === "", "no way back is left", graph.text("crumbs"));
}

function checkSearch(graph) {
	graph.search("LZMA");
	check(graph.text("share") === `matched: ${percent(589, TOTAL)}`,
		"nested matches are counted once, in any case", graph.text("share"));
	check(graph.hits() === 3, "each match is marked", graph.hits());
	graph.search("^rc_(encode|shift)");
	check(graph.text("share") === `matched: ${percent(405, TOTAL)}`, "a regular expression matches",
		graph.text("share"));
	graph.search("(int");
	check(graph.hits() === 2, "what is no regular expression is text", graph.hits());
	graph.search("main|");
	check(graph.hits() === 0, "an expression that matches nothing in particular marks nothing",
		graph.hits());
	graph.mouse("click", graph.named("cc1"));
	graph.search("malloc");
	check(graph.text("share") === `matched: ${percent(35, TOTAL)} (${percent(35, 252)} of zoomed)`,
		"the share of the zoomed frame is told", graph.text("share"));
	graph.key("Escape");
	check(graph.text("share") === "" && graph.hits() === 0 && graph.input.value === "",
		"Escape clears the search");
	check(/cc1$/.test(graph.text("crumbs")), "and leaves the zoom", graph.text("crumbs"));
	graph.key("Escape");
	check(graph.text("crumbs") === "", "Escape again resets the zoom", graph.text("crumbs"));
}

function checkKeyboard(graph) {
	graph.layer.focus();
	graph.key("Home");
	check(graph.current() === graph.rects[0], "Home selects the root");
	check(graph.layer.getAttribute("role") === "tree" &&
		graph.layer.getAttribute("aria-activedescendant") === graph.current().id &&
		/^all, /.test(graph.current().getAttribute("aria-label")), "it is announced",
		graph.current().getAttribute("aria-label"));
	graph.key("ArrowUp");
	check(graph.text("name") === "xz", "up goes to the widest child", graph.text("name"));
	check(graph.current().getAttribute("aria-level") === "2", "its level is told");
	graph.key("ArrowLeft");
	check(graph.text("name") === "sshd", "left goes to the sibling", graph.text("name"));
	graph.key("ArrowRight");
	check(graph.text("name") === "xz", "right goes back", graph.text("name"));
	graph.key("Enter");
	check(near(graph.width(graph.current()), graph.full()), "Enter zooms");
	check(graph.view.getComputedStyle(graph.svg.querySelector(".ring")).display !== "none",
		"a ring shows what is selected");
	graph.key("ArrowDown");
	check(graph.text("name") === "all", "down goes to the parent", graph.text("name"));
	graph.key("Escape");
	graph.key("/");
	check(graph.svg.ownerDocument.activeElement === graph.input, "/ goes to the search");
	graph.key("ArrowUp");
	check(graph.text("name") === "all", "keys in the search stay there", graph.text("name"));
	graph.key("Escape");
	graph.key("f", { ctrlKey: true });
	check(graph.svg.ownerDocument.activeElement === graph.input, "so does Ctrl-F");
	graph.key("Escape");
}

function checkSource(graph, name, source) {
	graph.mouse("mouseover", graph.named(name));
	const end = graph.svg.querySelector(".name").getBBox();
	const begin = graph.svg.querySelector(".source").getBBox();
	check(graph.text("source") === source, `the source line of ${name} is told`, graph.text("source"));
	check(!source || (begin.x > end.x + end.width && begin.x + begin.width < graph.full() + MARGIN),
		"beside its name", `${end.x} + ${end.width}, ${begin.x} + ${begin.width}`);
}

function checkDetails(graph) {
	const rect = graph.named("lzma_mf_bt4_find");
	graph.mouse("mouseover", rect);
	check(graph.text("name") === "lzma_mf_bt4_find", "the name is told in full", graph.text("name"));
	check(graph.text("figures").startsWith(`self 140 (${percent(140, TOTAL)})  \u00b7  ` +
		`total 184 (${percent(184, TOTAL)})  \u00b7  /usr/bin/xz  \u00b7  build-id `),
		"so are samples, binary and build-id", graph.text("figures"));
	check(graph.text("source") === `/src/xz/lz_encoder_mf.c:646, hottest of 2 lines (${percent(140, 184)})`,
		"and of several lines the hottest", graph.text("source"));
	checkSource(graph, "rc_shift_low", "inlined  \u00b7  /src/xz/range_encoder.h:112");
	checkSource(graph, "lzma_encode", "/src/xz/lzma_encoder.c:214");
	checkSource(graph, "lzma_code", "");
	graph.layer.dispatchEvent(new graph.view.MouseEvent("mouseleave"));
	check(graph.text("name") !== "lzma_mf_bt4_find", "until the pointer leaves");
}

/* Resolves when `condition` holds, or after a maximum number of frames. */
function until(condition) {
	return new Promise(resolve => {
		let frames = 0;
		const look = () => condition() || ++frames > 1500 ? resolve() : setTimeout(look, 10);
		look();
	});
}

async function checkResize(graph, frame) {
	frame.width = 700;
	await until(() => graph.svg.viewBox.baseVal.width < 1000);
	check(near(graph.width(graph.rects[0]), graph.full()) && graph.full() < 700,
		"a narrower window is filled as well", graph.width(graph.rects[0]));
	checkLabels(graph, "in a narrower window");
}

function checkAddress(graph) {
	graph.search("uv_run");
	graph.mouse("click", graph.named("xz"));
	check(/^#frame=\d+&search=uv_run$/.test(graph.view.location.hash),
		"the address remembers zoom and search", graph.view.location.hash);
}

/* Frames that the still picture lacks are searched, and drawn where there is room. */
function checkNarrow(graph) {
	const all = 100000, first = graph.svg.viewBox.baseVal.height;
	check(!graph.labels().some(l => /^(narrow|recurse)/.test(l)), "narrow frames are not drawn at first",
		graph.labels().join(", "));
	check(first < 300, "rows that hold next to nothing do not make the picture higher", first);
	graph.search("memc");
	check(graph.text("share") === `matched: ${percent(7630, all)}`, "a search counts what is too narrow to draw",
		graph.text("share"));
	graph.search("narrow_7$");
	check(graph.text("share") === `matched: ${percent(10, all)}`, "and finds a single narrow frame",
		graph.text("share"));
	const grey = graph.layer.querySelector(".e0");
	check(grey && near(graph.width(grey), (graph.full() + 0.5) * 2094 / all - 0.5), "a grey frame stands for them",
		grey && graph.width(grey));
	graph.mouse("mouseover", grey);
	check(/^208 frames too narrow to draw$/.test(graph.text("name")), "which says so", graph.text("name"));
	graph.search("");
	graph.mouse("click", grey);
	check(near(graph.width(grey), graph.full()) && shownIn(graph, grey).length === 209,
		"a click on it shows them", shownIn(graph, grey).length);
	const narrow = shownIn(graph, grey).find(rect => {
		graph.mouse("mouseover", rect);
		return graph.text("name") === "recurse";
	});
	graph.mouse("click", narrow);
	check(narrow && near(graph.width(narrow), graph.full()), "a narrow frame can be zoomed to",
		narrow && graph.width(narrow));
	check(graph.labels().filter(l => l === "recurse").length === 60, "with all that stands on it",
		graph.labels().length);
	check(graph.svg.viewBox.baseVal.height > 1100 && graph.svg.style.height === graph.svg.viewBox.baseVal.height + "px",
		"in a picture that is high enough", graph.svg.viewBox.baseVal.height);
	checkLabels(graph, "when a narrow frame is zoomed");
	graph.mouse("mouseover", narrow);
	check(graph.text("name") === "recurse" && graph.text("figures").startsWith("self 0 (0.00 %)  \u00b7  total 24 (0.02 %)"),
		"its figures are told", graph.text("figures"));
	graph.mouse("click", graph.svg.querySelector(".crumb"));
	check(graph.svg.viewBox.baseVal.height === first && !graph.labels().includes("recurse"),
		"reset restores the picture", graph.svg.viewBox.baseVal.height);
}

/* The rectangles in its row. */
function shownIn(graph, rect) {
	return Array.from(graph.layer.children).filter(r => !r.classList.contains("gone") &&
		r.getAttribute("y") === rect.getAttribute("y"));
}

async function run() {
	const frame = document.getElementById("standalone") || document.getElementById("narrow");
	if (frame) {
		const graph = new Graph(frame.contentDocument.documentElement, frame.contentWindow);
		if (frame.id === "narrow") {
			checkNarrow(graph);
			results.textContent += "done\n";
			return;
		}
		checkLoaded(graph);
		checkLabels(graph, "at first");
		checkDetails(graph);
		checkZoom(graph);
		checkSearch(graph);
		checkKeyboard(graph);
		checkAddress(graph);
		await checkResize(graph, frame);
	} else {
		const graph = new Graph(document.querySelector("svg.flamegraph"), window);
		check(graph.svg.classList.contains("live"), "the script runs inside of a page of HTML");
		graph.mouse("click", graph.named("xz"));
		check(near(graph.width(graph.named("xz")), graph.full()), "where frames are zoomed too");
		check(location.hash === "", "and leave the page's address alone", location.hash);
	}
	results.textContent += "done\n";
}

window.addEventListener("load", () => run().catch(error => check(false, String(error))));
