/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where each visible frame stands, for the width of the window. */

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
