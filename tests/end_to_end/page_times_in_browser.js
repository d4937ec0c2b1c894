/* SPDX-License-Identifier: GPL-2.0-or-later */
// What the page shows over time: the heat map, the strip, incidents. page_in_browser.js, behind it in the page's module,
// calls these functions.

// Answers of a service, the second as it sends them to a page.
const answered = (value) => new Response(JSON.stringify(value));
const refused = (status, text) => new Response(text, { headers: { 'Pilotlight-Status': status } });

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

	window.fetch = async (address) => { asks.push(address); return answered(answer); };
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
	strip.show(0, 30, { is_live: true, unit: 'bytes', buckets, incidents: [], parts: [{ name: 'user', amount: [0.5, 1, 1] }] }, null);
	strip.hover({ clientX: box.left + 1, clientY: box.top + 5 });
	check(told[4].endsWith(': 1.00 bytes\nuser: 0.50'), 'what lives is told as it is', told[4]);
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
		return isBusy && address.includes('by=') ? refused(503, 'Too slow.') : answered({ is_cpu: true, unit: 'seconds', buckets, incidents: [],
			...(address.includes('by=kind') ? { parts: [{ name: 'kernel', amount: [1] }] } : {}) });
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

// Its address selects what its own comparison selects.
async function checkIncident() {
	const subject = () => selectionParameters().map((pair) => pair.join('=')).join();

	showIncident({ number: 3, time: 10025, from: 10004, to: 10090, cause: 'unit-cpu', text: '', subject: ['unit', 'a@b.service'] });
	check(state.from === '@10005.000' && state.to === '@10055.000' && state.by === 'time' && timeAgainst().join() === '6405,10005',
		'an incident is compared with the hour before', [state.from, state.to, timeAgainst()].join(' '));
	check(state.select === 'unit:a@b.service' && subject() === 'unit=a@b.service', 'of its unit alone', state.select);
	check(new URLSearchParams(location.hash.slice(1)).get('select') === 'unit:a@b.service', 'which is in the address', location.hash);
	showIncident({ number: 5, time: 10025, from: 10004, to: 10090, cause: 'throttled', text: '', subject: ['cgroup', '/a b/"c": d'] });
	check(state.select === 'cgroup:"/a b/?c?: d"' && subject() === 'cgroup=/a b/?c?: d', 'a name may have blanks and quotation marks', state.select);
	showIncident({ number: 4, time: 10025, from: 10004, to: 10090, cause: 'manual', text: '' });
	check(state.from === '@10004.000' && state.to === '@10090.000' && state.select === '', 'what a user notes, all that is kept of it', state.from);
	change({ from: undefined, to: undefined, against: '', by: 'total' });
	await settle();
}

// A unit that has just begun has no samples in the hour before; a name that is wrong has none at all.
async function checkNew() {
	const asks = [], fetched = window.fetch, all = profile, frames = { ...all.frames };
	let isWrong = false, isCoarse = false;

	for (const key of Object.keys(frames))
		frames[key] = frames[key].slice(0, 1);
	window.fetch = async (address) => {
		if (address.startsWith('/api/v1/heatmap'))
			return refused(404, 'no times');
		const isOfUnit = address.includes('unit=new'), isBefore = address.includes('from=%406400');

		asks.push(address);
		if (isCoarse && isBefore && (address.includes('windows=exact') || !address.endsWith('frames=1')))
			return refused(404, 'no times');
		return isOfUnit && (isBefore || isWrong) ? refused(404, 'no such unit') : answered(isOfUnit ? all : { ...all, title: 'before', frames });
	};
	dom.heat = { hide() {} };
	Object.assign(state, { from: '@10000.000', to: '@10050.000', against: 'hour', by: 'time', select: 'unit:new' });
	await load();
	const i = tree.label.findIndex((label) => nameOfLabel(label) === 'malloc');
	check(dom.error.hidden && tree.total[0] > 0 && tree.before[0] === 0 && tree.before[i] === 0 && tree.after[i] > 0 &&
		changeOf(difference, tree.before[i], tree.after[i]) > 0, 'what is new is compared with nothing', dom.error.textContent);
	check(asks.length === 3 && asks[2].endsWith('from=%406400.000&to=%4010000.000&format=json&frames=1'), 'of the same time', asks[2]);
	check(dom.subtitle.textContent.endsWith('; compared with before, nothing of the selection'), 'which is told', dom.subtitle.textContent);
	isWrong = true;
	await load();
	check(!dom.error.hidden && dom.error.textContent === 'no such unit', 'a wrong name is told', dom.error.textContent);
	isWrong = false;
	isCoarse = true;
	for (const [what, part] of [['a time without times of samples', { exact: '1' }], ['one without windows', { select: '' }],
		['one whose spans may have been dropped', { select: 'unit:new trace:1' }]]) {
		Object.assign(state, { exact: '', select: 'unit:new' }, part);
		profile = null;
		await load();
		check(!dom.error.hidden && dom.error.textContent === 'Shown alone, since there is nothing to compare it with: no times' &&
			base === null && difference === null && tree.total[0] > 0, `${what} lets the other be shown alone`, dom.error.textContent);
	}
	dom.error.hidden = true;
	window.fetch = fetched;
	base = null;
	profile = all;
	Object.assign(state, { from: undefined, to: undefined, against: '', by: 'total', select: '' });
	delete state.from;
	delete state.to;
	showProfile();
	await settle();
}
