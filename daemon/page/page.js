/* SPDX-License-Identifier: GPL-2.0-or-later */
// The page: its state is in its address, behind the '#'. A page with a profile inside shows that one; otherwise the
// page asks the service for profiles and for the time line.

const DEFAULTS = { view: 'flame', root: 'top', color: 'kind', q: '', last: '1h', event: 'cpu', select: '', against: '', by: 'total', label: '', exact: '' };
const TABLE_ROWS = 500, RELOAD_MS = 150;
const dom = {}, state = { ...DEFAULTS };
const inside = document.getElementById('data');
let profile = null, base = null, tree = null, difference = null, matches = null, collapses = false, thread = null;
let asked = 0;
const hidden = new Set();

// --- the address ------------------------------------------------------------------------------------------------------

const secret = new URLSearchParams(location.hash.slice(1)).get('key') || '';

function readAddress() {
	const given = new URLSearchParams(location.hash.slice(1));

	for (const name of Object.keys(state))
		delete state[name];
	Object.assign(state, DEFAULTS);
	for (const [name, value] of given)
		if (name in DEFAULTS || ['from', 'to'].includes(name))
			state[name] = value;
}

// Only a change of the selection, or of the view, is a step back of the browser.
function writeAddress(isStep) {
	const given = new URLSearchParams(secret ? { key: secret } : {});

	for (const [name, value] of Object.entries(state))
		if (value !== '' && value !== DEFAULTS[name])
			given.set(name, value);
	const address = `#${given}`;
	if (address !== location.hash)
		history[isStep ? 'pushState' : 'replaceState'](null, '', address);
}

function change(values, isStep = true) {
	const before = { ...state };

	Object.assign(state, values);
	for (const name of Object.keys(state))
		if (state[name] === undefined)
			delete state[name];
	writeAddress(isStep);
	update(before);
}

const LOADED = ['from', 'to', 'last', 'event', 'select', 'against', 'by', 'exact'];

function update(before) {
	syncControls();
	if (!inside && LOADED.some((name) => state[name] !== before[name]))
		load();
	else
		showViews();
}

// --- the service ------------------------------------------------------------------------------------------------------

// What a service on TCP may ask for. It lives as long as the page, and is in no address.
let token = '';

async function ask(path, parameters) {
	const query = new URLSearchParams(parameters);

	if (secret)
		query.append('key', secret);
	const given = token, headers = given ? { Authorization: `Bearer ${given}` } : {};
	const answer = await fetch(`${path}?${query}`, { credentials: 'omit', cache: 'no-store', headers });

	// The user may have given another one meanwhile.
	if (answer.status === 401 && given !== token)
		return ask(path, parameters);
	if (answer.status === 401) {
		dom.token.hidden = false;
		dom.token.querySelector('input').focus();
		throw new Error(token ? 'The service refuses this token.' : 'The service asks for its token.');
	}
	if (!answer.ok)
		throw new Error((await answer.text()).trim() || `The service answered with ${answer.status}.`);
	return answer.json();
}

// "unit:nginx.service comm:worker" as parameters of a selection.
function selectionParameters() {
	const list = [];

	for (const word of state.select.split(/\s+/).filter(Boolean)) {
		const at = word.indexOf(':');

		list.push(at > 0 ? [word.slice(0, at), word.slice(at + 1)] : ['comm', word]);
	}
	if (state.event !== 'cpu')
		list.push(['event', state.event]);
	return list;
}

function timeParameters(from, to, last) {
	return from ? [['from', from], ['to', to]] : [['last', last]];
}

const DURATIONS = { s: 1, min: 60, m: 60, h: 3600, d: 86400, day: 86400, days: 86400 };

function durationOf(text) {
	const [, number, unit] = /^([0-9.]+)\s*([a-z]+)$/.exec(text) || [];

	return number && DURATIONS[unit] ? number * DURATIONS[unit] : NaN;
}

// In seconds since 1970.
function selectedTime() {
	if (state.from)
		return [state.from, state.to].map((text) => Number(text.replace('@', '')));
	const now = Date.now() / 1000;
	return [now - (durationOf(state.last) || 3600), now];
}

// The time to compare with: the one before, or as long ago as the text says.
function timeAgainst() {
	const [from, to] = selectedTime(), ago = state.against === 'before' ? to - from : durationOf(state.against);

	return ago > 0 ? [from - ago, to - ago] : null;
}

const at = (seconds) => `@${seconds.toFixed(3)}`;

async function load() {
	const turn = ++asked, common = [['format', 'json'], ...selectionParameters()], other = timeAgainst();

	if (state.exact)
		common.push(['windows', 'exact']);
	dom.busy.className = 'busy on';
	dom.error.hidden = true;
	loadHeat(turn);
	try {
		const answers = await Promise.all([
			ask('/api/v1/profile', [...timeParameters(state.from, state.to, state.last), ...common]),
			other ? ask('/api/v1/profile', [...timeParameters(at(other[0]), at(other[1])), ...common]) : null,
		]);

		if (turn !== asked)
			return;
		[profile, base] = answers;
		thread = null;
		hidden.clear();
		showProfile();
	} catch (error) {
		if (turn !== asked)
			return;
		dom.error.textContent = error.message;
		dom.error.hidden = false;
	} finally {
		if (turn === asked)
			dom.busy.className = 'busy';
	}
}

// A short selection has a heat map. An exact one is a part of it, which stays, or else gets a map of the time around.
async function loadHeat(turn) {
	let [from, to] = selectedTime(), times = timeParameters(state.from, state.to, state.last);
	const { map } = dom.heat;

	if (to - from > HEAT_SECONDS_MAX) {
		dom.heat.hide();
		return;
	}
	if (state.exact && map && from >= map.from && to <= map.from + map.columns * map.column) {
		dom.heat.select(from, to);
		return;
	}
	if (state.exact) {
		[from, to] = [from - HEAT_SECONDS_MAX / 10, to + HEAT_SECONDS_MAX / 10];
		times = timeParameters(at(from), at(Math.min(to, Date.now() / 1000)));
	}
	try {
		const answer = await ask('/api/v1/heatmap', [...times, ['format', 'json'], ...selectionParameters()]);

		if (turn === asked)
			dom.heat.show(answer, state.exact ? selectedTime() : null);
	} catch {
		// The history keeps no times of that time, or the service is an earlier one. The profile's answer says what else is wrong.
		if (turn === asked)
			dom.heat.hide();
	}
}

// The strip shows some more than the selection.
async function loadStrip(from, to) {
	const parameters = [['from', at(from)], ['to', at(to)], ['buckets', dom.strip.bucketCount()]];

	if (state.event !== 'cpu')
		parameters.push(['event', state.event]);
	try {
		dom.strip.show(from, to, await ask('/api/v1/timeline', parameters), selectedTime());
	} catch (error) {
		dom.error.textContent = error.message;
		dom.error.hidden = false;
	}
}

function reloadStrip() {
	const [from, to] = selectedTime(), more = Math.max((to - from) * 0.5, 30);

	return loadStrip(from - more, Math.min(to + more, Date.now() / 1000));
}

// --- what is shown ----------------------------------------------------------------------------------------------------

function showProfile() {
	difference = base ? differenceOf(base, profile, state.by === 'time') : null;
	if (difference)
		profile = difference.profile;
	const lost = profile.lost > 0 ? `, ${formatAmount(profile.lost)} lost` : '';

	document.title = `${profile.title} – Pilotlight`;
	dom.title.textContent = profile.title;
	dom.subtitle.textContent = `${profile.event_title} on ${profile.cpus} CPUs, ${formatAmount(profile.stored)}${lost}, ` +
		`${new Date(profile.start * 1000).toLocaleString()}, ${profile.covered.toFixed(1)} s` +
		(profile.elided > 0 ? `; frames below the smallest shown have ${formatShare(profile.elided, profile.stored)}` : '');
	if (dom.strip) {
		dom.strip.cpus = profile.cpus;
		dom.strip.select(...selectedTime());
	}
	makeTrees();
	showViews();
}

function makeTrees() {
	tree = difference ? difference.tree : treeOfProfile(profile);
	if (hidden.size > 0 || collapses || thread !== null)
		tree = difference ? tree : filterTree(tree, { hidden, collapses, thread });
	dom.trees = {};
}

// Inverted trees take some time, so they are made when they are shown.
function treeFor(name, build) {
	dom.trees[name] = dom.trees[name] || build();
	return dom.trees[name];
}

function nameOfLabel(label) {
	return profile.labels[label][0];
}

const BINARY_COLORS = ['#e69f00', '#56b4e9', '#009e73', '#f0e442', '#0072b2', '#d55e00', '#cc79a7', '#999999'];

function colorOf(shown) {
	const style = getComputedStyle(document.documentElement);
	const colors = profile.kinds.map((kind) => style.getPropertyValue(`--${kind.split(' ')[0].toLowerCase()}`) ||
		style.getPropertyValue('--synthetic'));
	const binaryOf = (frame) => (shown.from[frame] >= 0 ? profile.frames.binary[shown.from[frame]] : -1);

	if (difference && shown === tree)
		return (frame) => differenceColor(shown.before[frame], shown.after[frame]);
	if (state.color === 'binary')
		return (frame) => (binaryOf(frame) < 0 ? style.getPropertyValue('--synthetic')
			: BINARY_COLORS[binaryOf(frame) % BINARY_COLORS.length]);
	return (frame) => colors[profile.labels[shown.label[frame]][1]];
}

// Blue: more than before; orange: less. The shade is by the ratio.
function differenceColor(before, after) {
	const by = changeOf(difference, before, after);

	if (by === 0)
		return getComputedStyle(document.documentElement).getPropertyValue('--all');
	const [wholeBefore, wholeAfter] = difference.wholes;
	const ratio = Math.min(Math.abs(by) / (before / wholeBefore + after / wholeAfter), 1);
	const light = 82 - 30 * ratio;
	return by > 0 ? `hsl(205 85% ${light}%)` : `hsl(24 90% ${light}%)`;
}

function findMatches() {
	const text = state.q, pattern = /^\/(.+)\/(i?)$/.exec(text);
	let test;

	matches = null;
	dom.found.textContent = '';
	if (!text || !profile)
		return;
	try {
		const expression = pattern ? new RegExp(pattern[1], pattern[2]) : null;

		test = expression ? (name) => expression.test(name) : (name) => name.toLowerCase().includes(text.toLowerCase());
	} catch (error) {
		dom.found.textContent = error.message;
		return;
	}
	matches = Uint8Array.from(profile.labels, ([name]) => (test(name) ? 1 : 0));
	dom.found.textContent = `${formatShare(matchedTotal(tree, matches), tree.total[0])} matched`;
}

function showFlame(view, shown) {
	view.show(shown, { colorOf: colorOf(shown), nameOf: (frame) => nameOfLabel(shown.label[frame]), isMatch: matches });
}

function showViews() {
	if (!profile)
		return;
	findMatches();
	const label = profile.labels.findIndex(([name]) => name === state.label), isSandwich = state.view === 'sandwich' && label >= 0;

	dom.flame.element.hidden = state.view === 'table';
	dom.callers.element.hidden = dom.middle.hidden = !isSandwich;
	dom.table.hidden = state.view !== 'table';
	for (const [name, element] of Object.entries(dom.tabs))
		element.setAttribute('aria-pressed', String(name === state.view));
	if (state.view === 'table') {
		showTable();
	} else if (isSandwich) {
		dom.middle.textContent = `Callers of ${state.label} above, root last; what it calls below.`;
		dom.callers.setRootBelow(true);
		showFlame(dom.callers, treeFor(`callers ${label}`, () => sandwichTree(tree, label, true)));
		dom.flame.setRootBelow(false);
		showFlame(dom.flame, treeFor(`callees ${label}`, () => sandwichTree(tree, label, false)));
	} else {
		dom.flame.setRootBelow(state.root === 'bottom');
		showFlame(dom.flame, state.view === 'inverted' ? treeFor('inverted', () => invertTree(tree)) : tree);
	}
}

// --- details and the menu ---------------------------------------------------------------------------------------------

function describe(view, frame) {
	const shown = view.tree, from = shown.from[frame], whole = shown.total[0];
	const lines = [nameOfLabel(shown.label[frame])];

	if (difference && shown === tree) {
		const [wholeBefore, wholeAfter] = difference.wholes, { before, after } = shown;

		lines.push(state.by === 'time' ? `${formatAmount(before[frame], base)} before, ${formatAmount(after[frame])} after`
			: `${formatShare(before[frame], wholeBefore)} before, ${formatShare(after[frame], wholeAfter)} after`);
		if (changeOf(difference, before[frame], after[frame]) === 0)
			lines.push('the difference may be chance');
	} else if (difference) {
		lines.push(`${formatShare(shown.total[frame], whole)} of both sides`);
	} else {
		lines.push(`${formatAmount(shown.total[frame])}, ${formatShare(shown.total[frame], whole)}; ` +
			`itself ${formatShare(shown.self[frame], whole)}`);
	}
	if (from >= 0 && profile.frames.binary[from] >= 0) {
		const [path, buildId] = profile.binaries[profile.frames.binary[from]];

		lines.push(buildId ? `${path}, build-id ${buildId}` : path);
	}
	if (from >= 0 && profile.frames.file[from] >= 0)
		lines.push(`${profile.files[profile.frames.file[from]]}:${profile.frames.line[from]}`);
	return lines.join('\n');
}

function showTip(text, x, y) {
	dom.tip.hidden = !text;
	if (!text)
		return;
	dom.tip.textContent = text;
	dom.tip.style.left = `${Math.max(Math.min(x + 14, innerWidth - dom.tip.offsetWidth - 8), 0)}px`;
	dom.tip.style.top = `${y + 18 + dom.tip.offsetHeight > innerHeight ? Math.max(y - dom.tip.offsetHeight - 8, 0) : y + 18}px`;
}

function threadOf(view, frame) {
	let top = frame;

	while (view.tree.depth[top] > 1)
		top = view.tree.parent[top];
	return view.tree.depth[top] === 1 && profile.kinds[profile.labels[view.tree.label[top]][1]] === 'command' ? view.tree.label[top] : null;
}

function refilter() {
	makeTrees();
	showViews();
}

function openMenu(view, frame, x, y) {
	const label = view.tree.label[frame], of = threadOf(view, frame);
	const close = () => { dom.menu.hidden = true; view.canvas.focus(); };
	const item = (text, action) => button(text, () => { close(); action(); });

	dom.menu.replaceChildren(
		item('Zoom here', () => view.zoom(frame)), item('Zoom out', () => view.zoom(0)),
		item('Callers and callees', () => openSandwich(label)),
		item('Search this name', () => change({ q: nameOfLabel(label) }, false)),
		...(difference ? [] : [
			item('Hide this function', () => { hidden.add(label); refilter(); }),
			item(collapses ? 'Show recursions' : 'Collapse recursions', () => { collapses = !collapses; refilter(); }),
			...(of === null ? [] : [item(`Only thread ${nameOfLabel(of)}`, () => { thread = of; refilter(); })]),
			...(hidden.size > 0 || thread !== null ? [item('Show all again', () => { hidden.clear(); thread = null; refilter(); })] : []),
		]),
		item('Copy the name', () => navigator.clipboard?.writeText(nameOfLabel(label))));
	dom.menu.hidden = false;
	dom.menu.style.left = `${Math.min(x, innerWidth - dom.menu.offsetWidth - 8)}px`;
	dom.menu.style.top = `${Math.min(y, innerHeight - dom.menu.offsetHeight - 8)}px`;
	dom.menu.firstChild.focus();
}

function pressInMenu(event) {
	const items = [...dom.menu.children], i = items.indexOf(document.activeElement);

	if (event.key === 'Escape')
		dom.menu.hidden = true;
	else if (event.key === 'ArrowDown')
		items[(i + 1) % items.length].focus();
	else if (event.key === 'ArrowUp')
		items[(i + items.length - 1) % items.length].focus();
	else
		return;
	event.preventDefault();
}

// --- the controls -----------------------------------------------------------------------------------------------------

function flameView() {
	const view = new FlameView({
		chosen: (frame) => { dom.detail.textContent = describe(view, frame); },
		menu: (frame, x, y) => openMenu(view, frame, x, y),
		hovered: (frame, x, y) => showTip(frame < 0 ? '' : describe(view, frame), x, y),
	});

	return view;
}

function choice(name, values) {
	const element = make('select', { onchange: () => change({ [name]: element.value }), data: { name } },
		...values.map(([value, text]) => make('option', { value, textContent: text })));

	element.setAttribute('aria-label', name);
	return element;
}

function textField(name, hint, title) {
	let waiting = 0;
	const element = make('input', { type: 'search', placeholder: hint, title, className: 'grow', data: { name }, oninput: () => {
		clearTimeout(waiting);
		if (name === 'q')
			waiting = setTimeout(() => change({ [name]: element.value }, false), RELOAD_MS);
	}, onchange: () => change({ [name]: element.value }, name !== 'q') });

	element.setAttribute('aria-label', title);
	return element;
}

function syncControls() {
	for (const element of document.querySelectorAll('[data-name]'))
		if (element !== document.activeElement || element.tagName === 'SELECT')
			element.value = state[element.dataset.name] || '';
	for (const [last, element] of dom.lasts || [])
		element.setAttribute('aria-pressed', String(!state.from && state.last === last));
}

function serviceBar() {
	dom.lasts = ['1min', '10min', '1h', '6h', '24h', '7d', '30d'].map((last) => [last, button(last, () => {
		change({ last, from: undefined, to: undefined, exact: '' });
		reloadStrip();
	}, `The last ${last}`)]);
	return make('div', { className: 'bar' }, ...dom.lasts.map(([, element]) => element),
		textField('select', 'unit:nginx.service comm:worker', 'Select threads and code: NAME:VALUE, as the options of pilotlight-flamegraph(1)'),
		choice('event', [['cpu', 'CPU time'], ['offcpu', 'off CPU'], ['runqueue', 'run queue'], ['wall', 'wall']]),
		choice('against', [['', 'no comparison'], ['before', 'with the time before'], ['24h', 'with a day earlier'], ['7d', 'with a week earlier']]),
		choice('by', [['total', 'by share'], ['time', 'by time']]));
}

function viewBar() {
	const tab = (name, text) => {
		dom.tabs[name] = button(text, () => change({ view: name }));
		return dom.tabs[name];
	};
	const theme = button('Dark or light', () => {
		const isDark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === 'dark'
			: matchMedia('(prefers-color-scheme: dark)').matches;

		document.documentElement.dataset.theme = isDark ? 'light' : 'dark';
		showViews();
		dom.strip?.draw();
		dom.heat?.draw();
	});

	dom.tabs = {};
	dom.found = make('output', { className: 'note' });
	return make('div', { className: 'bar' }, tab('flame', 'Flame graph'), tab('inverted', 'Bottom-up'), tab('table', 'Functions'),
		tab('sandwich', 'Sandwich'), textField('q', 'Search; /expression/', 'Search for a text, or a /regular expression/'), dom.found,
		choice('root', [['top', 'root on top'], ['bottom', 'root at the bottom']]),
		choice('color', [['kind', 'colour by kind'], ['binary', 'colour by binary']]), theme);
}

// Hidden until the service asks for it. No form, since the policy of the page lets none be sent, and so no field for
// passwords, which browsers want in one.
function tokenBar() {
	const field = make('input', { type: 'text', autocomplete: 'off', spellcheck: false, className: 'grow', placeholder: 'Token',
		onkeydown: (event) => { if (event.key === 'Enter') give(); } });
	const give = () => {
		if (!field.value.trim())
			return;
		token = field.value.trim();
		field.value = '';
		dom.token.hidden = true;
		reloadStrip();
		load();
	};

	field.setAttribute('aria-label', 'Token');
	return make('div', { className: 'bar token', hidden: true },
		make('span', { textContent: 'Token of the service, the line of its BearerTokenFile:' }), field, button('Use it', give));
}

function timeStrip() {
	return new TimeStrip({
		selected: (from, to) => change({ from: at(from), to: at(to), exact: '' }),
		moved: (from, to) => loadStrip(from, Math.min(to, Date.now() / 1000)),
		hovered: showTip,
	});
}

// An exact selection is given up for the time that the map shows.
function heatMap() {
	return new HeatMap({
		selected: (from, to) => change({ from: at(from), to: at(to), exact: '1' }),
		left: () => {
			const { from, columns, column } = dom.heat.map;

			if (state.exact)
				change({ from: at(from), to: at(from + columns * column), exact: '' });
		},
		hovered: showTip,
	});
}

function build() {
	dom.title = make('h1', { textContent: 'Pilotlight' });
	dom.subtitle = make('div', { className: 'subtitle' });
	dom.busy = make('div', { className: 'busy' });
	dom.error = make('div', { className: 'error', hidden: true, role: 'alert' });
	dom.token = tokenBar();
	dom.flame = flameView();
	dom.callers = flameView();
	dom.middle = make('div', { className: 'note', hidden: true });
	dom.table = make('div', { className: 'table', hidden: true });
	dom.detail = make('div', { className: 'detail note' });
	dom.tip = make('div', { className: 'tip', hidden: true, role: 'tooltip' });
	dom.menu = make('div', { className: 'menu', hidden: true, onkeydown: pressInMenu });
	dom.callers.element.hidden = true;
	document.body.append(make('header', {}, dom.title, dom.subtitle));
	if (!inside) {
		dom.strip = timeStrip();
		dom.heat = heatMap();
		document.body.append(dom.strip.element, dom.heat.element, serviceBar());
	}
	document.body.append(viewBar(), dom.busy, dom.error, dom.token,
		make('main', { className: 'views' }, dom.callers.element, dom.middle, dom.flame.element, dom.table), dom.detail, dom.tip, dom.menu);
	document.addEventListener('mousedown', (event) => { if (!dom.menu.contains(event.target)) dom.menu.hidden = true; });
	document.addEventListener('keydown', (event) => {
		if (event.key === '/' && !['INPUT', 'SELECT'].includes(document.activeElement.tagName)) {
			event.preventDefault();
			document.querySelector('[data-name="q"]').focus();
		}
	});
	matchMedia('(prefers-color-scheme: dark)').addEventListener('change', showViews);
	window.addEventListener('popstate', () => { const before = { ...state }; readAddress(); update(before); });
	window.addEventListener('hashchange', () => { const before = { ...state }; readAddress(); update(before); });
}

readAddress();
build();
syncControls();
if (inside) {
	profile = JSON.parse(inside.textContent);
	showProfile();
} else {
	reloadStrip();
	load();
}
