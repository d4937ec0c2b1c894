/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The heading, zoom, keyboard and search. */

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
