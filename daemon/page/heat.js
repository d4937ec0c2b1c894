/* SPDX-License-Identifier: GPL-2.0-or-later */
// The sub-second heat map: seconds from left to right, parts of a second upward, the stronger the more samples. A drag
// selects exactly from the part where it begins to the part where it ends; so do the keys.

const HEAT_ROW_PX = 3, HEAT_SECONDS_MAX = 300;

class HeatMap {
	// `events`: selected(from, to), in seconds since 1970, left() to give up an exact selection, hovered(text, x, y) or ('').
	constructor(events) {
		this.events = events;
		this.canvas = document.createElement('canvas');
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'application');
		this.note = document.createElement('div');
		this.note.className = 'note';
		this.element = document.createElement('div');
		this.element.className = 'heat';
		this.element.append(this.canvas, this.note);
		this.canvas.addEventListener('mousedown', (event) => this.begin(event));
		this.canvas.addEventListener('mousemove', (event) => this.hover(event));
		this.canvas.addEventListener('mouseleave', () => this.events.hovered(''));
		this.canvas.addEventListener('keydown', (event) => this.press(event));
		this.canvas.addEventListener('blur', () => { this.cursor = undefined; this.draw(); });
		window.addEventListener('mousemove', (event) => this.drag(event));
		window.addEventListener('mouseup', (event) => this.end(event));
		new ResizeObserver(() => this.draw()).observe(this.element);
		this.hide();
	}

	hide() {
		this.map = null;
		this.element.hidden = true;
	}

	// `map` is the answer to /api/v1/heatmap; `selection`: what of it is marked, null: nothing.
	show(map, selection) {
		const most = map.cells.reduce((a, b) => Math.max(a, b), 0), at = map.cells.indexOf(most);
		const untimed = map.untimed > 0 ? ` ${formatShare(map.untimed, map.timed + map.untimed)} of the samples have no time.` : '';

		Object.assign(this, { map, most, selection, cursor: undefined });
		this.element.hidden = map.columns === 0;
		this.note.textContent = `Each column is ${map.column} s, from bottom to top.${untimed}`;
		this.canvas.setAttribute('aria-label', `Heat map of ${map.columns} columns of ${map.column} s. ` +
			(most ? `The most, ${most} samples, are at ${this.clock(at)}. ` : '') +
			'Drag to select exactly; or move with the arrow keys, select with shift, and Enter.');
		this.draw();
	}

	select(from, to) {
		this.selection = [from, to];
		this.draw();
	}

	// The time at which a cell begins.
	time(cell) {
		return this.map.from + cell * this.map.column / this.map.rows;
	}

	clock(cell) {
		return formatClock(this.time(cell), 12);
	}

	cellOf(event) {
		const box = this.canvas.getBoundingClientRect(), { columns, rows } = this.map;
		const clamp = (value, count) => Math.min(Math.max(Math.floor(value * count), 0), count - 1);

		return clamp((event.clientX - box.left) / box.width, columns) * rows +
			rows - 1 - clamp((event.clientY - box.top) / box.height, rows);
	}

	// The cells whose time is selected.
	isSelected(cell) {
		return this.selection && this.time(cell + 1) > this.selection[0] + 1e-6 && this.time(cell) < this.selection[1] - 1e-6;
	}

	draw() {
		const width = this.element.clientWidth, ratio = window.devicePixelRatio || 1;

		if (!this.map || !width)
			return;
		const { columns, rows, cells } = this.map, height = rows * HEAT_ROW_PX, wide = width / columns;
		const style = getComputedStyle(document.documentElement), context = this.canvas.getContext('2d');

		this.canvas.width = width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.height = `${height}px`;
		context.scale(ratio, ratio);
		const fill = (cell, color, alpha) => {
			const left = Math.floor(cell / rows) * wide;

			context.globalAlpha = alpha;
			context.fillStyle = style.getPropertyValue(color);
			context.fillRect(left, height - (cell % rows + 1) * HEAT_ROW_PX, Math.max(wide, 1), HEAT_ROW_PX);
		};
		cells.forEach((count, cell) => { if (count) fill(cell, '--heat', 0.12 + 0.88 * count / this.most); });
		if (this.selection)
			cells.forEach((_, cell) => { if (this.isSelected(cell)) fill(cell, '--selected', 0.55); });
		if (this.cursor !== undefined)
			fill(this.cursor, '--text', 1);
		context.globalAlpha = 1;
	}

	hover(event) {
		if (!this.map || this.anchor !== undefined)
			return;
		const cell = this.cellOf(event);

		this.events.hovered(`${this.clock(cell)}: ${this.map.cells[cell]} samples in ${this.map.column / this.map.rows * 1000} ms`,
			event.clientX, event.clientY);
	}

	span(one, other) {
		return [this.time(Math.min(one, other)), this.time(Math.max(one, other) + 1)];
	}

	begin(event) {
		if (event.button !== 0 || !this.map)
			return;
		this.anchor = this.cellOf(event);
		this.select(...this.span(this.anchor, this.anchor));
		this.canvas.focus();
		event.preventDefault();
	}

	drag(event) {
		if (this.anchor !== undefined)
			this.select(...this.span(this.anchor, this.cellOf(event)));
	}

	end(event) {
		if (this.anchor === undefined)
			return;
		this.drag(event);
		this.anchor = undefined;
		this.events.hovered('');
		this.events.selected(...this.selection);
	}

	press(event) {
		const { columns, rows } = this.map || {}, last = columns * rows - 1;
		const moves = { ArrowUp: 1, ArrowDown: -1, ArrowRight: rows, ArrowLeft: -rows };

		if (!this.map || event.ctrlKey || event.altKey || event.metaKey)
			return;
		if (event.key === 'Escape') {
			this.events.left();
		} else if (event.key === 'Enter' && this.cursor !== undefined) {
			this.events.selected(...(this.from === undefined ? this.span(this.cursor, this.cursor) : this.selection));
		} else if (moves[event.key]) {
			const before = this.cursor === undefined ? this.map.cells.indexOf(this.most) : this.cursor;

			this.cursor = this.cursor === undefined ? before : Math.min(Math.max(before + moves[event.key], 0), last);
			this.from = event.shiftKey ? this.from ?? before : undefined;
			if (this.from !== undefined)
				this.selection = this.span(this.from, this.cursor);
			this.events.hovered('');
			this.draw();
		} else {
			return;
		}
		event.preventDefault();
	}
}
