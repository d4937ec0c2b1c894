/* SPDX-License-Identifier: GPL-2.0-or-later */
// Draws a tree on a canvas as large as what is in view, however large the tree is.

const ROW_PX = 18, FRAME_PX_MIN = 0.4, TEXT_PX_MIN = 24, MATCH = 'match';
const PRINTED_PX_MIN = 2; // narrower frames make no row on paper
const PRINTED_PART_MAX = 0.95; // of the width: then it is on the sheet that begins with the title and the time

class FlameView {
	// `events`: chosen(frame) when the selected frame changes, zoomed(frame), menu(frame, x, y), hovered(frame, x, y) or (-1).
	constructor(events) {
		this.events = events;
		this.element = document.createElement('div');
		this.element.className = 'flame';
		this.space = document.createElement('div');
		this.canvas = document.createElement('canvas');
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'img');
		this.element.append(this.canvas, this.space);
		this.isRootBelow = false;
		this.element.addEventListener('scroll', () => this.draw());
		this.canvas.addEventListener('mousemove', (event) => this.hover(event));
		this.canvas.addEventListener('mouseleave', () => this.events.hovered(-1));
		this.canvas.addEventListener('click', (event) => this.click(event));
		this.canvas.addEventListener('contextmenu', (event) => this.openMenu(event));
		this.canvas.addEventListener('keydown', (event) => this.press(event));
		new ResizeObserver(() => this.draw()).observe(this.element);
		window.addEventListener('beforeprint', () => this.unfold(true));
		window.addEventListener('afterprint', () => this.unfold(false));
	}

	// On paper nothing scrolls: all rows, from the root on.
	unfold(isPrinted) {
		if (!this.tree || this.element.hidden)
			return;
		this.width = this.element.clientWidth; // the window may just have got another one
		this.element.style.flex = isPrinted ? 'none' : '';
		this.element.style.height = isPrinted ? `${Math.min((this.deepest() + 1) * ROW_PX, PRINTED_PART_MAX * this.width)}px` : '';
		this.scrollToRoot();
	}

	deepest() {
		const { tree, zoomed } = this;
		let depth = tree.depth[zoomed];

		for (let i = zoomed; i < tree.end[zoomed]; i++)
			if (tree.depth[i] > depth && tree.total[i] * this.width >= PRINTED_PX_MIN * tree.total[zoomed])
				depth = tree.depth[i];
		return depth;
	}

	// colorOf(frame) gives a CSS colour; nameOf(frame) a text; isMatch says by label what a search has found, or null;
	// `zoomed` is a frame, or null: as it is, and the root of a new tree.
	show(tree, { colorOf, nameOf, isMatch, zoomed }) {
		const isNew = tree !== this.tree, top = zoomed ?? (isNew ? 0 : this.zoomed);

		Object.assign(this, { tree, colorOf, nameOf, isMatch });
		if (isNew || top !== this.zoomed)
			this.zoomed = this.selected = top;
		this.draw();
		if (isNew && top === 0)
			this.scrollToRoot();
	}

	scrollToRoot() {
		this.element.scrollTop = this.isRootBelow ? this.element.scrollHeight : 0;
		this.draw();
	}

	rows() {
		return this.tree.depthMax + 1;
	}

	rowTop(depth) {
		return (this.isRootBelow ? this.rows() - 1 - depth : depth) * ROW_PX;
	}

	setRootBelow(isRootBelow) {
		if (isRootBelow === this.isRootBelow)
			return;
		this.isRootBelow = isRootBelow;
		this.scrollToRoot();
	}

	// Ancestors of the zoomed frame are as wide as the view.
	place(frame) {
		const { tree, zoomed } = this, width = this.width;

		if (tree.depth[frame] < tree.depth[zoomed] && frame < zoomed && zoomed < tree.end[frame])
			return [0, width];
		const scale = width / (tree.total[zoomed] || 1);
		return [(tree.offset[frame] - tree.offset[zoomed]) * scale, tree.total[frame] * scale];
	}

	draw() {
		if (!this.tree)
			return;
		const ratio = window.devicePixelRatio || 1;
		const width = this.element.clientWidth, height = this.element.clientHeight;

		this.width = width;
		this.space.style.height = `${Math.max(this.rows() * ROW_PX - height, 0)}px`;
		this.canvas.width = width * ratio;
		this.canvas.height = height * ratio;
		this.canvas.style.height = `${height}px`;
		const context = this.canvas.getContext('2d');
		context.scale(ratio, ratio);
		context.font = getComputedStyle(this.element).font;
		context.textBaseline = 'middle';
		this.character = context.measureText('mmmmmmmmmm').width / 10;
		this.drawn = 0;
		for (let i = this.tree.parent[this.zoomed]; i >= 0; i = this.tree.parent[i])
			this.drawFrame(context, i, 0, width, height);
		this.drawBelow(context, this.zoomed, height);
	}

	// All descendants that are wide enough: a narrow frame's are skipped with it.
	drawBelow(context, top, height) {
		const { tree } = this, scale = this.width / (tree.total[top] || 1), left = tree.offset[top];

		for (let i = top; i < tree.end[top];) {
			const width = tree.total[i] * scale;

			if (width < FRAME_PX_MIN) {
				i = tree.end[i];
				continue;
			}
			this.drawFrame(context, i, (tree.offset[i] - left) * scale, width, height);
			i++;
		}
	}

	drawFrame(context, frame, x, width, height) {
		const top = this.rowTop(this.tree.depth[frame]) - this.element.scrollTop;

		if (top > height || top < -ROW_PX)
			return;
		const style = this.styles(), gap = width > 3 ? 1 : 0;
		const found = this.isMatch && this.isMatch[this.tree.label[frame]];
		this.drawn++;
		context.fillStyle = found ? style.match : this.colorOf(frame);
		context.fillRect(x, top, width - gap, ROW_PX - 1);
		if (frame === this.selected) {
			context.strokeStyle = style.text;
			context.lineWidth = 2;
			context.strokeRect(x + 1, top + 1, Math.max(width - gap - 2, 1), ROW_PX - 3);
		}
		if (width < TEXT_PX_MIN)
			return;
		const room = Math.floor((width - 8) / this.character), name = this.nameOf(frame);
		context.fillStyle = found ? style.matchText : style.text;
		context.fillText(name.length > room ? `${name.slice(0, Math.max(room - 1, 1))}…` : name, x + 4, top + ROW_PX / 2);
	}

	styles() {
		const style = getComputedStyle(document.documentElement);

		if (this.theme !== document.documentElement.dataset.theme || !this.cached) {
			this.theme = document.documentElement.dataset.theme;
			this.cached = {
				text: style.getPropertyValue('--frame-text'), match: style.getPropertyValue('--match'),
				matchText: style.getPropertyValue('--match-text'),
			};
		}
		return this.cached;
	}

	frameAt(event) {
		const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left;
		const row = Math.floor((event.clientY - box.top + this.element.scrollTop) / ROW_PX);
		const depth = this.isRootBelow ? this.rows() - 1 - row : row, { tree, zoomed } = this;

		if (!tree || depth < 0 || depth > tree.depthMax)
			return -1;
		let frame = zoomed;
		while (depth < tree.depth[frame])
			frame = tree.parent[frame];
		while (tree.depth[frame] < depth) {
			let child = frame + 1;

			for (; child < tree.end[frame]; child = tree.end[child]) {
				const [left, width] = this.place(child);

				if (x >= left && x < left + width)
					break;
			}
			if (child >= tree.end[frame])
				return -1;
			frame = child;
		}
		return frame;
	}

	hover(event) {
		this.events.hovered(this.frameAt(event), event.clientX, event.clientY);
	}

	click(event) {
		const frame = this.frameAt(event);

		if (frame >= 0)
			this.zoom(frame);
	}

	openMenu(event) {
		const frame = this.frameAt(event);

		event.preventDefault();
		if (frame < 0)
			return;
		this.select(frame);
		this.events.menu(frame, event.clientX, event.clientY);
	}

	select(frame) {
		const top = this.rowTop(this.tree.depth[frame]), view = this.element;

		this.selected = frame;
		if (top < view.scrollTop || top + ROW_PX > view.scrollTop + view.clientHeight)
			view.scrollTop = top - view.clientHeight / 2;
		this.canvas.setAttribute('aria-label', this.nameOf(frame));
		this.events.chosen(frame);
		this.draw();
	}

	zoom(frame) {
		this.zoomed = frame;
		this.select(frame);
		this.events.zoomed(frame);
	}

	largestChild(frame) {
		const { tree } = this;
		let largest = -1;

		for (let i = frame + 1; i < tree.end[frame]; i = tree.end[i])
			if (largest < 0 || tree.total[i] > tree.total[largest])
				largest = i;
		return largest;
	}

	sibling(frame, step) {
		const { tree } = this, parent = tree.parent[frame];

		if (parent < 0)
			return -1;
		if (step > 0)
			return tree.end[frame] < tree.end[parent] ? tree.end[frame] : -1;
		let before = -1;
		for (let i = parent + 1; i < frame; i = tree.end[i])
			before = i;
		return before;
	}

	press(event) {
		const toLeaf = this.isRootBelow ? 'ArrowUp' : 'ArrowDown', toRoot = this.isRootBelow ? 'ArrowDown' : 'ArrowUp';
		const keys = {
			[toLeaf]: () => this.largestChild(this.selected),
			[toRoot]: () => this.tree.parent[this.selected],
			ArrowLeft: () => this.sibling(this.selected, -1),
			ArrowRight: () => this.sibling(this.selected, 1),
			Home: () => 0,
		};

		if (event.ctrlKey || event.altKey || event.metaKey || !this.tree)
			return;
		if (event.key === 'Enter') {
			this.zoom(this.selected);
		} else if (event.key === 'Escape' || event.key === 'Backspace') {
			this.zoom(Math.max(this.tree.parent[this.zoomed], 0));
		} else if (event.key === 'm' || event.key === 'ContextMenu') {
			const [left, width] = this.place(this.selected), box = this.canvas.getBoundingClientRect();

			this.events.menu(this.selected, box.left + Math.max(left, 0) + Math.min(width, 40),
				box.top + this.rowTop(this.tree.depth[this.selected]) - this.element.scrollTop + ROW_PX);
		} else if (keys[event.key]) {
			const frame = keys[event.key]();

			if (frame >= 0)
				this.select(frame);
		} else {
			return;
		}
		event.preventDefault();
	}
}
