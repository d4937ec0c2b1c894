/* SPDX-License-Identifier: GPL-2.0-or-later */
// The time strip: how much of the event each moment had, and whose that was, what was lost, where the rate of sampling changed, and where the
// machine started. A drag selects; the wheel, + and - zoom.

const STRIP_HEIGHT = 110, STRIP_AXIS = 18, SECONDS_LEAST = 20, BUCKET_PX = 3;
const PART_COLORS = ['#e69f00', '#009e73', '#cc79a7', '#0072b2', '#f0e442', '#d55e00'];

class TimeStrip {
	// `events`: selected(from, to) and moved(from, to), in seconds since 1970, incident(one of the time line), and
	// hovered(text, x, y) or ('').
	constructor(events) {
		this.events = events;
		this.element = document.createElement('div');
		this.element.className = 'strip';
		this.canvas = document.createElement('canvas');
		this.canvas.tabIndex = 0;
		this.canvas.setAttribute('role', 'application');
		this.canvas.setAttribute('aria-label', 'Time: drag to select; arrows move, + and - zoom, Enter selects all that is shown, i goes to the next incident');
		this.legend = make('div', { className: 'note legend' });
		this.element.append(this.canvas, this.legend);
		this.canvas.addEventListener('mousedown', (event) => this.begin(event));
		this.canvas.addEventListener('mousemove', (event) => this.hover(event));
		this.canvas.addEventListener('mouseleave', () => this.events.hovered(''));
		this.canvas.addEventListener('wheel', (event) => this.turn(event), { passive: false });
		this.canvas.addEventListener('keydown', (event) => this.press(event));
		window.addEventListener('mousemove', (event) => this.drag(event));
		window.addEventListener('mouseup', (event) => this.end(event));
		new ResizeObserver(() => this.draw()).observe(this.element);
		this.cpus = 0; // the top of the scale, once it is known
	}

	bucketCount() {
		return Math.max(Math.floor((this.element.clientWidth || 1000) / BUCKET_PX), 50);
	}

	// Times in seconds; `timeline` is the answer to /api/v1/timeline; are its parts the kernel and user code?
	show(from, to, timeline, selection, isOfKinds = false) {
		Object.assign(this, { from, to, timeline, selection, isOfKinds });
		this.fillLegend();
		this.draw();
	}

	fillLegend() {
		const { parts, buckets } = this.timeline, sum = (list) => list.reduce((all, value) => all + value, 0);

		this.legend.replaceChildren();
		if (parts && parts.length > 0) {
			const hasOthers = sum(parts.map(({ amount }) => sum(amount))) < 0.999 * sum(buckets.amount);

			this.legend.append(...[...parts.map(({ name }) => name), ...(hasOthers ? ['others'] : [])].flatMap((name, i) => {
				const mark = make('span', { className: 'mark' });

				mark.style.background = this.partColor(i);
				return [mark, make('span', { textContent: name })];
			}));
		}
	}

	// Of the parts, and behind the last one of what others have.
	partColor(i) {
		const { parts = [] } = this.timeline, style = getComputedStyle(document.documentElement);

		if (i >= parts.length)
			return style.getPropertyValue('--bar');
		return this.isOfKinds ? style.getPropertyValue(parts[i].name === 'kernel' ? '--kernel' : '--executable') : PART_COLORS[i % PART_COLORS.length];
	}

	select(from, to) {
		this.selection = [from, to];
		this.draw();
	}

	x(time) {
		return (time - this.from) / (this.to - this.from) * this.element.clientWidth;
	}

	time(event) {
		const box = this.canvas.getBoundingClientRect();

		return this.from + (event.clientX - box.left) / box.width * (this.to - this.from);
	}

	draw() {
		const width = this.element.clientWidth, ratio = window.devicePixelRatio || 1;

		if (!width || !this.timeline)
			return;
		this.canvas.width = width * ratio;
		this.canvas.height = STRIP_HEIGHT * ratio;
		const context = this.canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
		context.scale(ratio, ratio);
		this.drawBars(context, style);
		this.drawAxis(context, style, width);
		this.drawChanges(context, style);
		this.drawIncidents(context, style);
		if (this.selection)
			this.drawSelection(context, style);
	}

	// What its amounts are of: of what lives, they are no amounts of time.
	secondsOf(i) {
		const { start, end } = this.timeline.buckets;

		return this.timeline.is_live ? 1 : Math.max(end[i] - start[i], 1e-3);
	}

	drawBars(context, style) {
		const room = STRIP_HEIGHT - STRIP_AXIS - 4, { start, end, amount, lost } = this.timeline.buckets;
		const rate = (i) => (amount[i] + lost[i]) / this.secondsOf(i);
		const { parts = [] } = this.timeline, colors = parts.map((_, i) => this.partColor(i));

		this.greatest = start.reduce((most, _, i) => Math.max(most, rate(i)), this.timeline.is_cpu ? this.cpus || 0 : 0);
		start.forEach((_, i) => {
			const left = this.x(start[i]), width = Math.max(this.x(end[i]) - left - 0.5, 0.7);
			const seconds = this.secondsOf(i);
			const height = amount[i] / seconds / (this.greatest || 1) * room;
			const more = lost[i] / seconds / (this.greatest || 1) * room;

			context.fillStyle = style.getPropertyValue('--bar');
			context.fillRect(left, STRIP_HEIGHT - STRIP_AXIS - height, width, height);
			let below = STRIP_HEIGHT - STRIP_AXIS;
			parts.forEach((part, j) => {
				const high = part.amount[i] / seconds / (this.greatest || 1) * room;

				context.fillStyle = colors[j];
				context.fillRect(left, below -= high, width, high);
			});
			context.fillStyle = style.getPropertyValue('--lost');
			context.fillRect(left, STRIP_HEIGHT - STRIP_AXIS - height - more, width, more);
		});
	}

	drawAxis(context, style, width) {
		const steps = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 432000];
		const step = steps.find((seconds) => width / ((this.to - this.from) / seconds) > 90) || 864000;

		context.font = getComputedStyle(this.element).font;
		context.fillStyle = context.strokeStyle = style.getPropertyValue('--muted');
		context.beginPath();
		context.moveTo(0, STRIP_HEIGHT - STRIP_AXIS + 0.5);
		context.lineTo(width, STRIP_HEIGHT - STRIP_AXIS + 0.5);
		for (let time = Math.ceil((this.from + zone) / step) * step - zone; time < this.to; time += step) {
			const x = Math.round(this.x(time)) + 0.5;
			const text = step >= 86400 ? formatDate(time) : formatClock(time, step < 60 ? 8 : 5);

			context.moveTo(x, STRIP_HEIGHT - STRIP_AXIS);
			context.lineTo(x, STRIP_HEIGHT - STRIP_AXIS + 4);
			context.fillText(text, x + 3, STRIP_HEIGHT - 4);
		}
		context.stroke();
	}

	// Where a bucket was sampled at another rate than the one before: a triangle. Where the machine started: a dashed line;
	// where the event was not recorded before: a short one.
	drawChanges(context, style) {
		const { start, period = [], boot = [], gap = [] } = this.timeline.buckets, bottom = STRIP_HEIGHT - STRIP_AXIS;

		context.fillStyle = context.strokeStyle = style.getPropertyValue('--accent');
		context.setLineDash([3, 3]);
		start.forEach((time, i) => {
			const x = Math.round(this.x(time)) + 0.5;

			context.beginPath();
			if (i > 0 && period[i] !== period[i - 1]) {
				context.moveTo(x - 4, bottom);
				context.lineTo(x + 4, bottom);
				context.lineTo(x, bottom - 7);
				context.fill();
			}
			if (boot[i] || gap[i] > 0) {
				context.beginPath();
				context.moveTo(x, boot[i] ? 0 : bottom / 2);
				context.lineTo(x, bottom);
				context.stroke();
			}
		});
		context.setLineDash([]);
	}

	// What a bucket was sampled at, and whether it follows a start, or time in which its event was not recorded.
	rateOf(i) {
		const { period = [], boot = [], gap = [] } = this.timeline.buckets;
		const rate = period[i] > 0 && this.timeline.unit === 'seconds' ? `, at ${Math.round(1e9 / period[i])} Hz` : '';

		const start = boot[i] ? ', after a start of the machine' : '';
		return `${rate}${start}${gap[i] > 0 ? `, after ${gap[i].toFixed(0)} s in which this event was not recorded` : ''}`;
	}

	// A line with a flag; its text comes when the mouse is near.
	drawIncidents(context, style) {
		context.fillStyle = style.getPropertyValue('--lost');
		for (const { time } of this.timeline.incidents) {
			const x = Math.round(this.x(time));

			context.fillRect(x, 0, 1, STRIP_HEIGHT - STRIP_AXIS);
			context.fillRect(x, 0, 7, 6);
		}
	}

	drawSelection(context, style) {
		const left = this.x(this.selection[0]), right = this.x(this.selection[1]);

		context.fillStyle = style.getPropertyValue('--selection');
		context.fillRect(left, 0, Math.max(right - left, 2), STRIP_HEIGHT - STRIP_AXIS);
	}

	bucketAt(time) {
		const { start, end } = this.timeline.buckets;

		return start.findIndex((begin, i) => time >= begin && time < end[i]);
	}

	incidentAt(time) {
		return this.timeline.incidents.find((incident) => Math.abs(this.x(incident.time) - this.x(time)) < 6);
	}

	hover(event) {
		if (!this.timeline)
			return;
		const time = this.time(event), i = this.bucketAt(time), { amount, lost } = this.timeline.buckets;
		const when = formatWhen(time);
		const near = this.incidentAt(time);

		if (near) {
			this.events.hovered(`${formatWhen(near.time)}: incident ${near.number}, ${near.cause}: ${near.text}`,
				event.clientX, event.clientY);
			return;
		}

		if (i < 0) {
			this.events.hovered(`${when}: nothing recorded`, event.clientX, event.clientY);
			return;
		}
		const seconds = this.secondsOf(i), { is_cpu: isCpu, is_live: isLive, unit } = this.timeline;
		const told = `${(amount[i] / seconds).toFixed(2)} ${isCpu ? 'CPUs' : unit}${isCpu || isLive ? '' : ' a second'}`;
		const parts = (this.timeline.parts || []).map((part) => `\n${part.name}: ${(part.amount[i] / seconds).toFixed(2)}`).join('');
		this.events.hovered(`${when}: ${told}${lost[i] > 0 ? `, ${(lost[i] / (amount[i] + lost[i]) * 100).toFixed(1)} % lost` : ''}${this.rateOf(i)}${parts}`,
			event.clientX, event.clientY);
	}

	begin(event) {
		if (event.button !== 0 || !this.timeline)
			return;
		this.dragFrom = this.time(event);
		event.preventDefault();
		this.canvas.focus();
	}

	drag(event) {
		if (this.dragFrom === undefined)
			return;
		const time = Math.min(Math.max(this.time(event), this.from), this.to);

		this.select(Math.min(this.dragFrom, time), Math.max(this.dragFrom, time));
	}

	// A click selects the incident or the bucket under it.
	end(event) {
		if (this.dragFrom === undefined)
			return;
		this.drag(event);
		this.dragFrom = undefined;
		let [from, to] = this.selection;
		if (this.x(to) - this.x(from) < 3) {
			const incident = this.incidentAt(from);

			if (incident) {
				this.choose(incident);
				return;
			}
			const i = this.bucketAt(from), { start, end } = this.timeline.buckets;

			[from, to] = i < 0 ? [from, from + (this.to - this.from) / 100] : [start[i], end[i]];
			this.select(from, to);
		}
		this.events.selected(from, to);
	}

	zoomAt(time, factor) {
		const length = Math.max((this.to - this.from) * factor, SECONDS_LEAST);
		const from = time - (time - this.from) * (length / (this.to - this.from));

		this.events.moved(from, from + length);
	}

	turn(event) {
		if (!this.timeline || !(event.ctrlKey || event.shiftKey))
			return;
		event.preventDefault();
		this.zoomAt(this.time(event), (event.deltaY || event.deltaX) > 0 ? 2 : 0.5);
	}

	choose(incident) {
		this.chosen = incident.number;
		this.events.incident(incident);
	}

	// Behind the one that was chosen last, since the time around that one may have others, too.
	nextIncident() {
		const { incidents } = this.timeline, last = incidents.findIndex(({ number }) => number === this.chosen);
		const next = incidents[last + 1] || incidents[0];

		if (next)
			this.choose(next);
	}

	press(event) {
		const step = (this.to - this.from) / 4, middle = (this.from + this.to) / 2;
		const keys = {
			'+': () => this.zoomAt(middle, 0.5), '=': () => this.zoomAt(middle, 0.5), '-': () => this.zoomAt(middle, 2),
			ArrowLeft: () => this.events.moved(this.from - step, this.to - step),
			ArrowRight: () => this.events.moved(this.from + step, this.to + step),
			i: () => this.nextIncident(),
			Enter: () => this.events.selected(this.from, this.to),
		};

		if (!this.timeline || !keys[event.key] || event.ctrlKey || event.altKey || event.metaKey)
			return;
		event.preventDefault();
		keys[event.key]();
	}
}
