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
	check(dom.menu.hidden && document.activeElement === dom.flame.canvas, 'Escape closes the menu, and keys go to the frames again');
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

// Names that programs choose: markup, right to left, of 1 KiB.
async function checkNames() {
	const all = profile, names = ['<img src=x onerror="hostile()"><b>', '\u05e9\u05dc\u05d5\u05dd &amp; \u0645\u0631\u062d\u0628\u0627', 'x'.repeat(1024)];
	const isText = () => !document.querySelector('img, b') && document.documentElement.scrollWidth <= innerWidth;
	const numbers = (value) => [value, value, value, value];

	profile = { ...all, title: names.join(' '), labels: [['all', all.kinds.length - 1], ...names.map((name) => [name, 1])],
		binaries: [[names[0], 'id']], files: [names[2]], frames: { label: [0, 1, 2, 3], depth: [0, 1, 2, 3], total: numbers(9), self: [0, 0, 0, 9],
			binary: numbers(0), file: numbers(0), line: numbers(7) } };
	showProfile();
	check(dom.title.textContent === profile.title && isText(), 'a title of such names is text');
	for (let i = 0; i < names.length; i++) {
		dom.flame.canvas.dispatchEvent(new MouseEvent('mousemove', pointOf(dom.flame, i + 1)));
		check(dom.tip.textContent.startsWith(`${names[i]}\n`) && isText(), 'so is a tip', dom.tip.textContent);
		openMenu(dom.flame, i + 1, 10, 10);
		check(isText(), 'so is a menu');
		closeMenu();
		openSandwich(i + 1);
		check(dom.middle.textContent.includes(names[i]) && isText(), 'so is a sandwich', dom.middle.textContent);
		change({ view: 'flame' });
	}
	change({ view: 'table' });
	check(dom.table.querySelectorAll('tbody tr').length === 3 && isText(), 'and a table');
	change({ view: 'flame', label: '' });
	profile = all;
	showProfile();
	await settle();
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
	window.fetch = async (address) => { asks.push(address); return answered(answers[asks.length - 1]); };
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
		return asks.length > 1 ? answered(all) : refused(404, 'no window');
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
	const fetched = window.fetch, all = profile, answer = (title) => answered({ ...all, title });
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
		waiting.shift()(answered({ ...first, title }));
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
	await checkNames();
	await checkRows();
	await checkMore();
	await checkService();
	await checkZoomMeanwhile();
	checkDifference();
	checkChance();
	checkStrip();
	await checkStripOfPage();
	await checkIncident();
	await checkNew();
	await checkHeat();
	await checkHeatOfPage();
	results.textContent += 'done\n';
}

test().catch((error) => { results.textContent += `not ok - ${error.stack}\n`; });
