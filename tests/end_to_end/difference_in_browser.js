/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Operates a differential flame graph like a user and writes a line "ok - …" or "not ok - …" for each check. */
"use strict";

const results = document.getElementById("results");
const BASE = 1008, COMPARED = 940, ARROW = " \u2192 ";

function check(passed, what, found) {
	results.textContent += `${passed ? "ok" : "not ok"} - ${what}` +
		(passed || found === undefined ? "" : `: found ${found}`) + "\n";
}

function near(a, b) {
	return Math.abs(a - b) < 0.02;
}

function text(svg, name) {
	return svg.querySelector("." + name).textContent;
}

function labels(svg) {
	return Array.from(svg.querySelectorAll(".labels text"), t => t.textContent);
}

/* The rectangle below a label. */
function labelled(svg, label) {
	const text = Array.from(svg.querySelectorAll(".labels text")).find(t => t.textContent === label);
	return text && Array.from(svg.querySelectorAll(".frames rect")).find(r =>
		+r.getAttribute("y") + 13 === +text.getAttribute("y") &&
		near(+r.getAttribute("x") + 4, +text.getAttribute("x")) && !r.classList.contains("gone"));
}

function total(base, compared, ratio) {
	const points = 100 * compared / COMPARED - 100 * base / BASE;
	return `total ${(100 * base / BASE).toFixed(2)} %${ARROW}${(100 * compared / COMPARED).toFixed(2)} %, ` +
		`${points > 0 ? "+" : ""}${points.toFixed(2)} points (${ratio})`;
}

function mouse(view, type, target) {
	target.dispatchEvent(new view.MouseEvent(type, { bubbles: true }));
}

function checkLabels(svg) {
	check(labels(svg).includes("- lzma_encode"), "less is marked", labels(svg).join(", "));
	check(labels(svg).includes("+ lzma_mf_bt4_find"), "more is marked", labels(svg).join(", "));
	check(labels(svg).some(l => l.startsWith("df_")) && labels(svg).includes("all"),
		"what is nearly as it was is not", labels(svg).join(", "));
	const wide = Array.from(svg.querySelectorAll(".labels text")).filter(t => {
		const rect = labelled(svg, t.textContent);
		return !rect || t.getComputedTextLength() > +rect.getAttribute("width") - 4;
	});
	check(wide.length === 0, "marked labels fit their frames", wide.map(t => t.textContent).join(", "));
}

function checkColours(svg, view) {
	const fill = label => view.getComputedStyle(labelled(svg, label)).fill;
	const [more, less] = [fill("+ lzma_mf_bt4_find"), fill("- lzma_encode")]
		.map(colour => colour.match(/\d+/g).map(Number));
	check(more[0] > more[2] + 60, "more is red", more);
	check(less[2] > less[0] + 60, "less is blue", less);
}

function checkDetails(svg, view) {
	mouse(view, "mouseover", labelled(svg, "+ lzma_mf_bt4_find"));
	check(text(svg, "name") === "lzma_mf_bt4_find", "the name is told without its mark",
		text(svg, "name"));
	check(text(svg, "figures").startsWith(total(184, 336, "+95.8 %")), "the change of the total is told",
		text(svg, "figures"));
	check(text(svg, "figures").includes("self 13.89 %" + ARROW + "30.85 %, +16.96 points (+122.1 %)"),
		"and that of self", text(svg, "figures"));
	check(text(svg, "figures").includes("184" + ARROW + "336 samples"), "in samples too",
		text(svg, "figures"));
	const appeared = Array.from(svg.querySelectorAll(".frames rect")).find(r => !r.dataset.o && r.dataset.c === "70");
	mouse(view, "mouseover", appeared);
	check(text(svg, "figures").startsWith(total(0, 70, "new")), "what was not there is new",
		text(svg, "figures"));
	const vanished = Array.from(svg.querySelectorAll(".frames rect")).find(r => r.dataset.o === "27" && !r.dataset.c);
	mouse(view, "mouseover", vanished);
	check(text(svg, "figures").startsWith(total(27, 0, "gone")), "what vanished is there", text(svg, "figures"));
	mouse(view, "mouseover", labelled(svg, "- rc_encode"));
	check(text(svg, "source").startsWith("inlined"), "inlined frames are told to be", text(svg, "source"));
}

function checkZoomAndSearch(svg, view) {
	const target = labelled(svg, "+ lzma_mf_bt4_find");
	mouse(view, "mouseover", target);
	mouse(view, "click", target);
	check(near(+target.getAttribute("width"), svg.viewBox.baseVal.width - 32.5), "a click zooms",
		target.getAttribute("width"));
	check(text(svg, "figures").includes("100.00 % of zoomed"), "the zoomed frame is a whole",
		text(svg, "figures"));
	mouse(view, "click", svg.querySelector(".crumb"));
	const input = svg.querySelector("input");
	input.value = "^lzma_mf";
	input.dispatchEvent(new view.Event("input", { bubbles: true }));
	check(text(svg, "share") ===
			`matched: ${(100 * 184 / BASE).toFixed(2)} %${ARROW}${(100 * 336 / COMPARED).toFixed(2)} %`,
		"a search finds names, not marks", text(svg, "share"));
}

function run() {
	const frame = document.getElementById("standalone");
	const svg = frame.contentDocument.documentElement, view = frame.contentWindow;
	check(svg.classList.contains("live"), "the script has run");
	checkLabels(svg);
	checkColours(svg, view);
	checkDetails(svg, view);
	checkZoomAndSearch(svg, view);
	results.textContent += "done\n";
}

window.addEventListener("load", () => {
	try {
		run();
	} catch (error) {
		check(false, String(error));
	}
});
