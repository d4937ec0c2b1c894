/* SPDX-License-Identifier: GPL-2.0-or-later */
// Operates the page as a person would and writes a line "ok - ..." or "not ok - ..." for each check. It is the last part
// of the page's own module, so it sees what the page knows. The profile is tests/data/render/machine.json, twice as many
// samples of which are of frames that a second profile lacks.

const results = document.createElement('pre');
results.id = 'results';

function check(passed, what, found) {
	results.textContent += `${passed ? 'ok' : 'not ok'} - ${what}${passed || found === undefined ? '' : `: found ${found}`}\n`;
}

const settle = () => new Promise((resolve) => { setTimeout(resolve, 200); });
const frameOf = (view, name) => view.tree.label.findIndex((label) => profile.labels[label][0] === name);

// A point of the canvas where the frame is.
function pointOf(view, frame) {
	const [left, width] = view.place(frame), box = view.canvas.getBoundingClientRect();

	return { clientX: box.left + left + width / 2, bubbles: true, cancelable: true, button: 0,
		clientY: box.top + view.rowTop(view.tree.depth[frame]) - view.element.scrollTop + 5 };
}

function press(target, key) {
	target.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true, cancelable: true }));
}

function type(name, text) {
	const field = document.querySelector(`[data-name="${name}"]`);

	field.value = text;
	field.dispatchEvent(new Event('input', { bubbles: true }));
	field.dispatchEvent(new Event('change', { bubbles: true }));
}

const tabNamed = (text) => [...document.querySelectorAll('button')].find((element) => element.textContent === text);

function checkTrees() {
	const sum = (list) => list.reduce((all, value) => all + value, 0);
	let isOrdered = true;

	check(sum(tree.self) + profile.elided === tree.total[0], 'self samples add up to the whole', sum(tree.self));
	for (let i = 1; i < tree.count; i++)
		isOrdered = isOrdered && tree.parent[i] < i && tree.end[i] > i && tree.end[i] <= tree.end[tree.parent[i]] &&
			tree.offset[i] >= tree.offset[tree.parent[i]];
	check(isOrdered, 'children are within their parents');
	const inverted = invertTree(tree);
	check(inverted.total[0] === tree.total[0], 'bottom-up has the same whole');
	const label = profile.labels.findIndex(([name]) => name === 'malloc'), { total } = totalsOfTree(tree, profile.labels.length);
	const callers = sandwichTree(tree, label, true), callees = sandwichTree(tree, label, false);
	check(callers.total[0] === total[label] && callees.total[0] === total[label], 'the sandwich has all samples of its function');
	const only = filterTree(tree, { hidden: new Set([label]) });
	check(only.total[0] === tree.total[0] && !only.label.includes(label), 'hiding a function keeps its samples');
}

function checkRecursion() {
	const labels = [['all', 0], ['c', 0], ['f', 0]];
	const recursive = treeOfProfile({ frames: { label: [0, 1, 2, 2, 2], depth: [0, 1, 2, 3, 4], total: [9, 9, 9, 6, 3], self: [0, 0, 3, 3, 3] } });

	check(totalsOfTree(recursive, labels.length).total[2] === 9, 'a recursion counts once');
	const collapsed = filterTree(recursive, { collapses: true });
	check(collapsed.count === 3 && collapsed.self[2] === 9, 'a collapsed recursion is one frame');
}

async function checkMouse() {
	const frame = frameOf(dom.flame, 'main');

	dom.flame.canvas.dispatchEvent(new MouseEvent('mousemove', pointOf(dom.flame, frame)));
	check(!dom.tip.hidden && dom.tip.textContent.startsWith('main\n'), 'a tip tells the frame', dom.tip.textContent);
	dom.flame.canvas.dispatchEvent(new MouseEvent('click', pointOf(dom.flame, frame)));
	check(dom.flame.zoomed === frame && dom.flame.place(frame)[1] === dom.flame.width, 'a click zooms');
	press(dom.flame.canvas, 'Escape');
	check(dom.flame.zoomed === tree.parent[frame], 'Escape zooms out one frame');
	dom.flame.zoom(0);
	dom.flame.canvas.dispatchEvent(new MouseEvent('contextmenu', pointOf(dom.flame, frame)));
	check(!dom.menu.hidden && document.activeElement === dom.menu.firstChild, 'the menu opens with its first item chosen');
	press(dom.menu.firstChild, 'ArrowDown');
	check(document.activeElement === dom.menu.children[1], 'arrows move in the menu');
	press(document.activeElement, 'Escape');
	check(dom.menu.hidden, 'Escape closes the menu');
	await settle();
}

function checkKeys() {
	dom.flame.select(0);
	press(dom.flame.canvas, 'ArrowDown');
	const child = dom.flame.selected;
	check(tree.parent[child] === 0 && dom.detail.textContent.startsWith(nameOfLabel(tree.label[child])), 'down goes to the largest child');
	press(dom.flame.canvas, 'ArrowLeft');
	check(tree.end[dom.flame.selected] === child, 'left goes to the sibling before');
	press(dom.flame.canvas, 'ArrowRight');
	press(dom.flame.canvas, 'ArrowUp');
	check(dom.flame.selected === 0, 'up goes to the parent');
}

async function checkSearch() {
	type('q', 'malloc');
	await settle();
	check(dom.found.textContent === `${formatShare(matchedTotal(tree, matches), tree.total[0])} matched` && matchedTotal(tree, matches) > 0,
		'a search tells its share', dom.found.textContent);
	check(location.hash.includes('q=malloc'), 'the search is in the address', location.hash);
	type('q', '/(/');
	await settle();
	check(dom.found.textContent.includes('Invalid regular expression'), 'a wrong expression is told', dom.found.textContent);
	type('q', '/^_int_malloc$/');
	await settle();
	check(matches.reduce((all, value) => all + value, 0) === 1, 'an expression matches whole names');
	type('q', '');
	await settle();
}

async function checkTable() {
	tabNamed('Table').click();
	const rows = () => [...dom.table.querySelectorAll('tbody tr')], names = () => rows().map((row) => row.cells[2].textContent);
	const { self } = totalsOfTree(tree, profile.labels.length), most = self.indexOf(Math.max(...self));

	check(names()[0] === nameOfLabel(most), 'the table begins with the most self samples', names()[0]);
	tabNamed('Function').click();
	check(names().join() === [...names()].sort((a, b) => a.localeCompare(b)).join(), 'a click on a column sorts');
	rows()[0].click();
	await settle();
	check(state.view === 'sandwich' && !dom.callers.element.hidden, 'a row opens its sandwich');
	history.back();
	await settle();
	check(state.view === 'table' && dom.callers.element.hidden, 'the back button goes back', state.view);
	tabNamed('Flame graph').click();
}

// Items of the menu of a frame, whose effects are in the address.
async function checkFilters() {
	const whole = tree.total[0], malloc = labelOf('malloc'), { total } = totalsOfTree(tree, profile.labels.length);
	const choose = async (name, item) => {
		openMenu(dom.flame, frameOf(dom.flame, name), 10, 10);
		[...dom.menu.children].find((element) => element.textContent.startsWith(item)).click();
		await settle();
	};

	await choose('malloc', 'Focus');
	check(tree.total[0] === total[malloc] && outermostFrames(tree, malloc).length > 0 && !tree.label.includes(labelOf('df_analyze()')),
		'a focus keeps the stacks of a function alone', tree.total[0]);
	check(location.hash.includes('focus=malloc'), 'the focus is in the address', location.hash);
	await choose('malloc', 'Hide');
	await choose('_int_malloc', 'Hide');
	check(!tree.label.includes(malloc) && location.hash.includes('hide=malloc%09library%0A_int_malloc%09library'), 'so is what is hidden', location.hash);
	history.back();
	await settle();
	check(tree.label.includes(labelOf('_int_malloc')) && !tree.label.includes(malloc), 'the back button shows it again');
	await choose('main', 'Show all again');
	check(tree.total[0] === whole && location.hash === '', 'all is shown again', location.hash);
	await choose('df_analyze()', 'Only cc1');
	check(tree.total[0] === total[labelOf('cc1')] && state.only === 'cc1\tcommand', 'a group is shown alone', tree.total[0]);
	await choose('main', 'Show all again');
	dom.flame.zoom(frameOf(dom.flame, 'df_analyze()'));
	await settle();
	const address = location.hash, name = () => nameOfLabel(tree.label[dom.flame.zoomed]);
	dom.flame.zoom(0);
	await settle();
	location.hash = address;
	await settle();
	check(name() === 'df_analyze()' && dom.flame.zoomed > 0, 'the address has the zoom', name());
	dom.flame.zoom(0);
	await settle();
}

// A thread has the name of its function.
async function checkEqualNames() {
	const all = profile, key = (frame) => keyOfLabel(tree.label[frame]);
	const choose = async (item) => {
		openMenu(dom.flame, 3, 10, 10);
		[...dom.menu.children].find((element) => element.textContent.startsWith(item)).click();
		await settle();
	};

	profile = { ...all, labels: [['all', all.kinds.length - 1], ['fib', all.kinds.indexOf('command')], ['main', 1], ['fib', 1]], frames: { label: [0, 1, 2, 3], depth: [0, 1, 2, 3],
		total: [9, 9, 9, 6], self: [0, 0, 3, 6], binary: [-1, -1, -1, -1], file: [-1, -1, -1, -1], line: [0, 0, 0, 0] } };
	showProfile();
	dom.flame.zoom(3);
	await settle();
	const address = location.hash;
	dom.flame.zoom(0);
	await settle();
	location.hash = address;
	await settle();
	check(dom.flame.zoomed === 3, 'a zoom finds the function, not its thread', dom.flame.zoomed);
	dom.flame.zoom(0);
	await choose('Focus');
	check(tree.total[0] === 6, 'so does a focus', tree.total[0]);
	change({ focus: '' });
	await choose('Hide');
	check(tree.count === 3 && key(1) === 'fib\tcommand', 'hiding keeps the thread', tree.count);
	change({ hide: '' });
	await choose('Only fib');
	check(tree.count === 4 && state.only === 'fib\tcommand' && dom.missing.hidden, 'a thread is shown alone', state.only);
	change({ only: 'nobody', focus: 'nothing' });
	check(tree.count === 4 && dom.missing.textContent.includes('called nobody') && dom.missing.textContent.includes('called nothing'),
		'what is not there is told', dom.missing.textContent);
	change({ only: '', focus: '' });
	check(dom.missing.hidden, 'and no longer');
	profile = all;
	showProfile();
}

async function checkRows() {
	const rows = () => [...dom.table.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent));

	tabNamed('Table').click();
	sorted = { key: 'total', isDown: true };
	change({ rows: 'binary' });
	const cc1 = rows().find((row) => row[2] === '/usr/bin/cc1');
	check(cc1[0] === formatShare(217, 1008) && cc1[1] === formatShare(252, 1008) && cc1[3] === '64217ebe67278a34',
		'binaries have self and total samples', cc1.join(' '));
	change({ rows: 'group' });
	check(rows()[0].join() === [formatShare(616, 1008), 'xz', ''].join(), 'so do outermost frames', rows()[0].join());
	dom.table.querySelector('tbody tr').click();
	await settle();
	check(state.view === 'flame' && nameOfLabel(tree.label[dom.flame.zoomed]) === 'xz', 'a row of them leads to its stacks');
	dom.flame.zoom(0);
	change({ rows: 'function' });
}

// The service sends the largest frames at first, and all when they are wanted.
async function checkMore() {
	const asks = [], fetched = window.fetch, all = profile, first = { ...all, frames: {}, elided: 16 };
	const begin = frameOf(dom.flame, 'asm_exc_page_fault'), small = (i) => i >= begin && i < tree.end[begin];
	const answers = [first, { ...all, title: 'other' }];

	for (const key of Object.keys(all.frames))
		first.frames[key] = all.frames[key].filter((_, i) => !small(i));
	window.fetch = async (address) => { asks.push(address); return { ok: true, json: async () => structuredClone(answers[asks.length - 1]) }; };
	dom.heat = { hide() {} };
	hasService = true;
	state.select = 'unit:a.service comm:"Web Content"';
	await load();
	check(asks[0].startsWith('/api/v1/profile?last=1h&fresh=no&format=json&group=comm&unit=a.service&comm=Web+Content&frames='), 'a page asks for what it shows', asks[0]);
	check(!isWhole && tree.count < all.frames.label.length, 'small frames are left out');
	dom.flame.zoom(frameOf(dom.flame, 'finish_function'));
	await settle();
	check(asks.length === 1, 'nothing is asked where nothing is left out', asks.join(' '));
	dom.flame.zoom(frameOf(dom.flame, 'malloc'));
	await settle();
	check(asks.length === 2 && !asks[1].includes('frames=') && asks[1].includes(`from=%40${(all.start + 0.001).toFixed(3)}`) &&
		asks[1].endsWith(`below=${hashesOfPath(state.zoom)}`), 'zooming asks for the small frames of the same time below it', asks[1]);
	check(isWhole && tree.count === all.frames.label.length && nameOfLabel(tree.label[dom.flame.zoomed]) === 'malloc' && profile.title === all.title,
		'and the zoom stays');
	// The answer left others out.
	check(hashesOfPath('a\n'.repeat(3000)).length < 10000, 'a deep zoom is asked for in a short question');
	answers.push({ ...first, elided: 3 }, { ...all, elided: 3 });
	await load();
	asks.length = 2;
	dom.flame.zoom(dom.flame.zoomed);
	await settle();
	check(asks.length === 2 && hashesOfPath('beta\tcommand\nbeta\tcommand') === 'e2702c7b.e2702c7b', 'the same zoom asks once', asks.join(' '));
	asks.length = 0;
	window.fetch = async (address) => {
		asks.push(address);
		return { ok: asks.length > 1, status: 404, text: async () => 'no window', json: async () => structuredClone(all) };
	};
	dom.flame.zoom(0);
	await load();
	check(asks.length === 2 && asks[0].includes('fresh=no') && !asks[1].includes('fresh') && dom.error.hidden,
		'without a window it asks for the open one', asks.join(' '));
	window.fetch = fetched;
	hasService = false;
	await settle();
}

// A slow socket, and a service that restarts.
async function checkService() {
	const fetched = window.fetch, all = profile, answer = (title) => ({ ok: true, json: async () => ({ ...structuredClone(all), title }) });
	let release, isGone = true;

	dom.heat = { hide() {} };
	hasService = true;
	window.fetch = () => new Promise((resolve) => { release = () => resolve(answer('late')); });
	const first = load();
	check(dom.busy.classList.contains('on'), 'a question that takes long is shown');
	window.fetch = async () => answer('second');
	await load();
	check(profile.title === 'second' && !dom.busy.classList.contains('on'), 'a later question need not wait', profile.title);
	release();
	await first;
	await settle();
	check(profile.title === 'second', 'an answer that comes too late is left out', profile.title);
	window.fetch = async () => { if (isGone) throw new TypeError('Failed to fetch'); return answer('third'); };
	await load();
	check(!dom.error.hidden && profile.title === 'second' && dom.flame.drawn > 50, 'without a service the picture stays', dom.error.textContent);
	isGone = false;
	await load();
	check(dom.error.hidden && profile.title === 'third', 'when it is back, so is the page', dom.error.textContent);
	window.fetch = async () => answer(all.title);
	await load();
	window.fetch = fetched;
	hasService = false;
	await settle();
}

// The user zooms while an answer is under way, and the service has left small frames out.
async function checkZoomMeanwhile() {
	const fetched = window.fetch, all = profile, asks = [], waiting = [], first = { ...all, frames: {}, elided: 16 };
	const begin = frameOf(dom.flame, 'asm_exc_page_fault'), small = (i) => i >= begin && i < tree.end[begin];
	const answer = async (title) => {
		waiting.shift()({ ok: true, json: async () => structuredClone({ ...first, title }) });
		await settle();
	};

	for (const key of Object.keys(all.frames))
		first.frames[key] = all.frames[key].filter((_, i) => !small(i));
	dom.heat = { hide() {} };
	hasService = true;
	window.fetch = (address) => new Promise((resolve) => { asks.push(address); waiting.push(resolve); });
	load();
	await answer('old');
	dom.flame.zoom(frameOf(dom.flame, 'malloc'));
	dom.flame.zoom(tree.parent[dom.flame.zoomed]);
	const path = hashesOfPath(state.zoom);
	check(asks.length === 2 && !asks[1].endsWith(`below=${path}`), 'a second zoom waits for the answer to the first', asks.length);
	await answer('old');
	check(asks.length === 3 && asks[2].endsWith(`below=${path}`), 'and is asked for then', asks.join(' '));
	await answer('old');
	check(asks.length === 3 && !dom.busy.classList.contains('on'), 'once', asks.length);
	dom.flame.zoom(0);
	state.last = '10min';
	load();
	dom.flame.zoom(frameOf(dom.flame, 'malloc'));
	check(asks.length === 4 && asks[3].includes('last=10min'), 'a zoom does not take the place of another time', asks.join(' '));
	await answer('new');
	check(profile.title === 'new' && asks.length === 5 && asks[4].endsWith(`below=${hashesOfPath(state.zoom)}`), 'but is asked for behind it', asks.join(' '));
	await answer('other');
	check(profile.title === 'new' && asks.length === 5, 'and the time stays', profile.title);
	dom.flame.zoom(0);
	change({ hide: keyOfLabel(tree.label[tree.parent[frameOf(dom.flame, 'malloc')]]) });
	dom.flame.zoom(frameOf(dom.flame, 'malloc'));
	check(asks.length === 6 && asks[5].split('below=')[1] === asks[4].split('below=')[1], 'a filtered view asks by the path in the profile', asks.join(' '));
	await answer('other');
	check(asks.length === 6 && nameOfLabel(tree.label[dom.flame.zoomed]) === 'malloc', 'and once', asks.length);
	window.fetch = fetched;
	hasService = false;
	profile = all;
	Object.assign(state, { last: DEFAULTS.last, hide: '' });
	showProfile();
	dom.flame.zoom(0);
	await settle();
}

function checkDifference() {
	const other = JSON.parse(inside.textContent), same = differenceOf(other, other, false);
	const coloured = (difference) => difference.tree.total.reduce((all, total, i) =>
		all + (changeOf(difference, difference.tree.before[i], difference.tree.after[i]) === 0 ? 0 : total), 0);

	check(coloured(same) === 0, 'a profile does not differ from itself');
	const rarer = differenceOf({ ...other, period: 2 * other.period, frames: { ...other.frames,
		total: other.frames.total.map((samples) => samples / 2), self: other.frames.self.map((samples) => samples / 2) } }, other, true);
	check(coloured(rarer) === 0, 'by time, half as many samples of twice the period are the same');
	const gone = { ...other, frames: { ...other.frames } }, i = tree.label.findIndex((label) => nameOfLabel(label) === 'malloc');
	const cut = (list) => list.filter((_, frame) => frame < i || frame >= tree.end[i]);
	for (const key of Object.keys(gone.frames))
		gone.frames[key] = cut(gone.frames[key]);
	const without = differenceOf(other, gone, false), at = without.tree.label.findIndex((label) => without.profile.labels[label][0] === 'malloc');
	check(at > 0 && without.tree.total[at] > 0 && without.tree.after[at] === 0, 'what is gone has a width');
	const all = profile;
	base = { ...other, title: 'the day before' };
	profile = gone;
	showProfile();
	check(dom.subtitle.textContent.endsWith('; compared with the day before'), 'both sides are named', dom.subtitle.textContent);
	base = null;
	profile = all;
	showProfile();
}

// Numbers that are the same in each run (mulberry32).
function randomFrom(seed) {
	return () => {
		seed = seed + 0x6d2b79f5 | 0;
		let t = Math.imul(seed ^ seed >>> 15, 1 | seed);

		t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
		return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
	};
}

// Poisson's distribution: Knuth's way for small means, a normal one for others.
function poisson(mean, random) {
	if (mean > 30)
		return Math.max(Math.round(mean + Math.sqrt(mean) * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())), 0);
	let count = -1;

	for (let product = 1; product > Math.exp(-mean); count++)
		product *= random();
	return count;
}

// The profile as another recording of the same load, with `scale` times the samples; `more` on average in addition in `frame`.
function recordAgain(all, random, scale, frame = -1, more = 0) {
	const { depth } = all.frames, self = all.frames.self.map((samples, i) => poisson(samples * scale + (i === frame ? more : 0), random));
	const total = self.slice(), path = [];

	depth.forEach((level, i) => {
		path.length = level;
		for (const above of path)
			total[above] += self[i];
		path.push(i);
	});
	return { ...all, frames: { ...all.frames, self, total } };
}

// Of a load with itself, 1,000 times; and of one whose function has 3 % of the whole more, or less.
function checkChance() {
	const all = JSON.parse(inside.textContent), random = randomFrom(1), scale = 50;
	const frame = all.frames.self.findIndex((samples, i) => samples > 20 && all.frames.depth[i] > 2);
	const more = all.frames.total[0] * scale * 0.03;
	const isColoured = ({ tree: both, ...rest }, i) => changeOf({ tree: both, ...rest }, both.before[i], both.after[i]) !== 0;
	let coloured = 0, area = 0, seen = 0;

	for (let round = 0; round < 1000; round++) {
		const difference = differenceOf(recordAgain(all, random, scale), recordAgain(all, random, scale), false);

		difference.tree.total.forEach((width, i) => {
			area += width;
			coloured += isColoured(difference, i) ? width : 0;
		});
	}
	check(coloured / area <= 0.01, '1,000 comparisons of a load with itself colour 1 % at most', coloured / area);
	for (let round = 0; round < 50; round++) {
		const sides = [recordAgain(all, random, scale), recordAgain(all, random, scale, frame, more)];
		const { tree: both, ...rest } = differenceOf(...(round % 2 ? sides : sides.reverse()), false);
		const path = pathOf(treeOfProfile(all), frame);

		// The labels of the later side come first in the comparison's, and are the same here.
		seen += isColoured({ tree: both, ...rest }, frameOfPath(both, path));
	}
	check(seen === 50, 'a function with 3 % more, or less, is always coloured', seen);
}

function checkShown() {
	check(document.querySelector('h1').textContent === profile.title, 'the title is that of the profile');
	check(dom.subtitle.textContent.includes('993 samples, 15 samples lost'), 'the samples and the losses are told', dom.subtitle.textContent);
	check(dom.flame.drawn > 50, 'frames are drawn', dom.flame.drawn);
	tabNamed('Dark or light').click();
	check(document.documentElement.dataset.theme !== undefined, 'the theme changes');
	const pixel = dom.flame.canvas.getContext('2d').getImageData(5, 5, 1, 1).data;
	check(pixel[3] === 255, 'the canvas is painted', [...pixel]);
}

// A map of 60 s with a burst of 60 ms at 20.240.
async function checkHeat() {
	const START = 1795715926, seen = [], cells = new Array(60 * 50).fill(0);
	const told = [], heat = new HeatMap({
		selected: (from, to) => seen.push([from - START, to - START]), left: () => seen.push('left'), hovered: (text) => told.push(text),
	});
	const rounded = (span) => (span || []).map((time) => time.toFixed(3)).join(' to ');
	const selected = () => rounded(heat.selection.map((time) => time - START));

	cells.fill(4, 20 * 50 + 12, 20 * 50 + 15);
	heat.element.style.width = '600px';
	dom.flame.element.before(heat.element);
	check(heat.element.hidden, 'without times there is no heat map');
	heat.show({ from: START, column: 1, rows: 50, columns: 60, cells, timed: 12, untimed: 4 }, null);
	await settle();
	const box = heat.canvas.getBoundingClientRect();
	// The middle of a cell.
	const point = (column, row) => ({ clientX: box.left + (column + 0.5) / 60 * box.width, bubbles: true, cancelable: true, button: 0,
		clientY: box.bottom - (row + 0.5) / 50 * box.height });
	const alpha = (column, row) => heat.canvas.getContext('2d').getImageData((column + 0.5) / 60 * heat.canvas.width,
		heat.canvas.height - (row + 0.5) / 50 * heat.canvas.height, 1, 1).data[3];

	check(!heat.element.hidden && alpha(20, 12) > 200 && alpha(20, 14) > 200 && alpha(20, 15) === 0 && alpha(19, 12) === 0,
		'a burst is painted where it is', [alpha(20, 12), alpha(20, 14), alpha(20, 15), alpha(19, 12)]);
	check(heat.canvas.getAttribute('aria-label').includes('The most, 4 samples, are at'), 'the map is told in words');
	check(heat.note.textContent.includes('25.00 % of the samples have no time'), 'what has no time is told', heat.note.textContent);
	heat.canvas.dispatchEvent(new MouseEvent('mousemove', point(20, 12)));
	check(told.some((text) => text.includes('.240: 4 samples in 20 ms')), 'a part is told', told.join('; '));
	heat.canvas.dispatchEvent(new MouseEvent('mousedown', point(20, 12)));
	window.dispatchEvent(new MouseEvent('mousemove', point(20, 13)));
	window.dispatchEvent(new MouseEvent('mouseup', point(20, 14)));
	check(rounded(seen[0]) === '20.240 to 20.300', 'a drag selects exactly', rounded(seen[0]));
	heat.canvas.dispatchEvent(new MouseEvent('mousedown', point(21, 10)));
	window.dispatchEvent(new MouseEvent('mouseup', point(20, 12)));
	check(rounded(seen[1]) === '20.240 to 21.220', 'a drag backward does, too', rounded(seen[1]));
	heat.select(START, START + 60);
	press(heat.canvas, 'ArrowUp');
	for (let i = 0; i < 2; i++)
		heat.canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowUp', shiftKey: true, bubbles: true, cancelable: true }));
	check(selected() === '20.240 to 20.300', 'keys select from the most on', selected());
	press(heat.canvas, 'Enter');
	check(rounded(seen[2]) === '20.240 to 20.300', 'Enter takes it', rounded(seen[2]));
	press(heat.canvas, 'Escape');
	check(seen[3] === 'left', 'Escape leaves it');
	heat.element.remove();
}

// What the page asks the service for, of a short time and of an exact one.
async function checkHeatOfPage() {
	const asks = [], answer = { from: 1000, column: 1, rows: 50, columns: 60, cells: new Array(3000).fill(1), timed: 3000, untimed: 0 };
	const fetched = window.fetch;

	window.fetch = async (address) => { asks.push(address); return { ok: true, json: async () => answer }; };
	dom.heat = heatMap();
	asked = 7;
	Object.assign(state, { from: '@1000.000', to: '@1060.000' });
	await loadHeat(7);
	check(asks.length === 1 && asks[0].startsWith('/api/v1/heatmap?from=%401000.000&to=%401060.000&format=json') && !dom.heat.element.hidden,
		'a short selection gets its map', asks.join(' '));
	Object.assign(state, { from: '@1020.240', to: '@1020.300', exact: '1' });
	await loadHeat(7);
	check(asks.length === 1 && dom.heat.selection[0] === 1020.24, 'an exact selection is shown in it', asks.length);
	Object.assign(state, { from: '@2020.240', to: '@2020.300' });
	await loadHeat(7);
	check(asks.length === 2 && asks[1].includes('from=%401990.240'), 'an exact selection elsewhere gets the time around', asks[1]);
	Object.assign(state, { from: '@1000.000', to: '@1400.000', exact: '' });
	await loadHeat(7);
	check(asks.length === 2 && dom.heat.element.hidden, 'a long selection has none', asks.length);
	window.fetch = fetched;
}

function checkStrip() {
	const told = [], chosen = [], incidents = [{ number: 3, time: 25, from: 4, to: 90, cause: 'unit-cpu', text: '' },
		{ number: 4, time: 26, from: 4, to: 90, cause: 'unit-cpu', text: '' }];
	const strip = new TimeStrip({ selected() {}, moved() {}, hovered: (text) => told.push(text), incident: (one) => chosen.push(one.number) });
	const buckets = { start: [0, 10, 20], end: [10, 20, 30], amount: [1, 1, 1], lost: [0, 0, 1], gap: [0, 12, 0],
		period: [1e7, 2e7, 2e7], boot: [0, 0, 1] };

	document.body.append(strip.element);
	strip.show(0, 30, { is_cpu: true, unit: 'seconds', buckets, incidents: [] }, null);
	const box = strip.canvas.getBoundingClientRect();
	for (const part of [1, 3, 5])
		strip.hover({ clientX: box.left + box.width * part / 6, clientY: box.top + 5 });
	check(told[0].endsWith('CPUs, at 100 Hz'), 'the strip tells the rate', told[0]);
	check(told[1].endsWith('CPUs, at 50 Hz, after 12 s in which this event was not recorded'), 'and its change, and a gap', told[1]);
	check(told[2].endsWith('50.0 % lost, at 50 Hz, after a start of the machine'), 'and losses and starts', told[2]);
	const pixel = (part) => strip.canvas.getContext('2d').getImageData(strip.canvas.width / 6,
		(STRIP_HEIGHT - STRIP_AXIS - part * (STRIP_HEIGHT - STRIP_AXIS - 4)) * (window.devicePixelRatio || 1), 1, 1).data.join();
	const all = pixel(0.4);
	buckets.lost = [0, 0, 0];
	strip.show(0, 30, { is_cpu: true, unit: 'seconds', buckets, incidents: [], parts: [{ name: '<b>', amount: [0.5, 0, 0] },
		{ name: 'user', amount: [0.25, 1, 1] }] }, null);
	strip.hover({ clientX: box.left + 1, clientY: box.top + 5 });
	check(told[3].endsWith('at 100 Hz\n<b>: 0.05\nuser: 0.03'), 'it tells whose the time was', told[3]);
	check(new Set([0.25, 0.6, 0.9].map(pixel)).size === 3 && pixel(0.9) === all, 'and shows it', [0.25, 0.6, 0.9].map(pixel).join(' '));
	check(strip.legend.textContent === '<b>userothers' && !strip.legend.querySelector('b'), 'with the names', strip.legend.textContent);
	strip.show(0, 30, { is_cpu: true, unit: 'seconds', buckets, incidents }, null);
	const point = { clientX: box.left + box.width * 25 / 30, clientY: box.top + 5, bubbles: true, button: 0 };
	strip.canvas.dispatchEvent(new MouseEvent('mousedown', point));
	window.dispatchEvent(new MouseEvent('mouseup', point));
	strip.select(5, 55);
	press(strip.canvas, 'i');
	press(strip.canvas, 'i');
	check(chosen.join() === '3,4,3', 'a click chooses an incident, a key the next one', chosen.join());
	strip.element.remove();
	scrollTo(0, 0); // the focus was below
}

// The strip comes first, then whose the time was: of some hours.
async function checkStripOfPage() {
	const asks = [], fetched = window.fetch, buckets = { start: [0], end: [10], amount: [1], lost: [0] };
	let isBusy = false;

	window.fetch = async (address) => {
		asks.push(address);
		return { ok: !isBusy || !address.includes('by='), status: 503, text: async () => 'Too slow.', json: async () =>
			({ is_cpu: true, unit: 'seconds', buckets, incidents: [], ...(address.includes('by=kind') ? { parts: [{ name: 'kernel', amount: [1] }] } : {}) }) };
	};
	dom.strip = timeStrip();
	await loadStrip(0, 3600);
	check(asks.length === 2 && !asks[0].includes('by=') && asks[1].endsWith('by=kind') && dom.strip.legend.textContent === 'kernel',
		'the strip asks whose the time was', asks.join(' '));
	await loadStrip(0, 86400);
	check(asks.length === 3 && dom.strip.legend.textContent.startsWith('Of four hours'), 'but not of a day', asks.length);
	isBusy = true;
	await loadStrip(0, 3600);
	check(dom.error.hidden && dom.strip.legend.textContent === 'Too slow.', 'without an answer the strip stays', dom.strip.legend.textContent);
	// While it waits, the strip moves on.
	const busy = window.fetch;
	window.fetch = async (address) => {
		if (address.includes('by='))
			await loadStrip(0, 86400);
		return busy(address);
	};
	await loadStrip(0, 3600);
	check(dom.strip.legend.textContent.startsWith('Of four hours'), 'a late error is not shown', dom.strip.legend.textContent);
	dom.strip = undefined;
	window.fetch = fetched;
}

async function checkIncident() {
	showIncident({ number: 3, time: 10025, from: 10004, to: 10090, cause: 'unit-cpu', text: '' });
	check(state.from === '@10005.000' && state.to === '@10055.000' && state.by === 'time' && timeAgainst().join() === '6405,10005',
		'an incident is compared with the hour before', [state.from, state.to, timeAgainst()].join(' '));
	showIncident({ number: 4, time: 10025, from: 10004, to: 10090, cause: 'manual', text: '' });
	check(state.from === '@10004.000' && state.to === '@10090.000', 'what a user notes, all that is kept of it', state.from);
	change({ from: undefined, to: undefined, against: '', by: 'total' });
	await settle();
}

async function test() {
	document.body.append(results);
	checkShown();
	checkTrees();
	checkRecursion();
	await checkMouse();
	checkKeys();
	await checkSearch();
	await checkTable();
	await checkFilters();
	await checkEqualNames();
	await checkRows();
	await checkMore();
	await checkService();
	await checkZoomMeanwhile();
	checkDifference();
	checkChance();
	checkStrip();
	await checkStripOfPage();
	await checkIncident();
	await checkHeat();
	await checkHeatOfPage();
	results.textContent += 'done\n';
}

test().catch((error) => { results.textContent += `not ok - ${error.stack}\n`; });
