/* SPDX-License-Identifier: GPL-2.0-or-later */
// The page. With a profile inside it shows that one; otherwise it asks the service for profiles and for the time line.

const TABLE_ROWS = 500, RELOAD_MS = 150;
const FRAMES_FIRST = 20000, FRESH_BELOW_S = 600; // more frames than a screen shows
const PARTS_SECONDS_MAX = 4 * 3600; // reading the samples of more keeps others waiting: a day takes 1.5 s
const dom = {};
const inside = document.getElementById('data');
let profile = null, base = null, tree = null, whole = null, difference = null, matches = null;
let isWhole = true; // the service has sent all frames that it may, or those below a path
let detailed = ''; // the zoom for which it was asked
let hasService = !inside; // to be asked for more; tests set it
let isLoading = false; // it is asked for a profile
let asked = 0, askedStrip = 0;
let loading = Promise.resolve();

// --- what is loaded ---------------------------------------------------------------------------------------------------

function isFiltered() {
	return FILTERS.some((name) => state[name] !== '');
}

// A comparison, a search, a zoom and all but the flame graph need the small frames, too.
function wantsWhole() {
	return Boolean(state.against || state.q || state.zoom || state.view !== 'flame' || isFiltered());
}

function questions(isMore) {
	const common = [['format', 'json'], ['group', state.group], ...selectionParameters()], other = timeAgainst();
	// More of the windows that are shown: the last hour is another one by now.
	const times = isMore && !state.exact ? timeParameters(at(profile.start + 0.001), at(profile.end - 0.001))
		: timeParameters(state.from, state.to, state.last);

	if (state.exact)
		common.push(['windows', 'exact']);
	// The last seconds are nothing in a long time, and ending a window takes some.
	if (!isMore && !state.from && durationOf(state.last) >= FRESH_BELOW_S)
		times.push(['fresh', 'no']);
	const below = state.against ? '' : zoomInProfile();

	if (below)
		common.push(['below', hashesOfPath(below)]);
	else if (!isMore && !wantsWhole())
		common.push(['frames', FRAMES_FIRST]);
	return [[...times, ...common], other ? [...timeParameters(at(other[0]), at(other[1])), ...common] : null];
}

// `isMore`: the frames that were left out at first. They wait for an answer that is under way, which may be of another time.
function load(isMore = false) {
	if (!isMore || !isLoading)
		loading = loadProfile(isMore);
	return loading;
}

async function loadProfile(isMore) {
	const turn = isMore ? asked : ++asked, title = isMore ? profile.title : '', wanted = isMore || wantsWhole();
	const below = state.against || (isFiltered() && !whole) ? '' : state.zoom;
	let lacksMore = false, lacksBase = '';
	// An incident may be as old as the history.
	const orAlone = (error) => {
		if (error.status !== 404)
			throw error;
		lacksBase = error.message;
		return null;
	};

	isLoading = true;
	dom.busy.className = 'busy on';
	dom.error.hidden = true;
	try {
		const answers = await Promise.all(questions(isMore).map((question, side) =>
			question && (side ? askBase(question).catch(orAlone) : askProfile(question))));

		if (turn !== asked)
			return;
		[profile, base] = answers;
		profile.title = title || profile.title;
		isWhole = wanted || profile.elided === 0;
		detailed = below;
		showProfile();
		dom.error.hidden = !lacksBase;
		dom.error.textContent = lacksBase && `Shown alone, since there is nothing to compare it with: ${lacksBase}`;
		lacksMore = lacksFrames(); // the user has zoomed or searched meanwhile
	} catch (error) {
		if (turn !== asked)
			return;
		dom.error.textContent = error.message;
		dom.error.hidden = false;
	} finally {
		if (turn === asked) {
			dom.busy.className = 'busy';
			isLoading = false;
			if (lacksMore)
				load(true);
		}
		// After the profile, which matters more: a service makes few answers at once.
		if (turn === asked && !isMore)
			loadHeat(turn);
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

// The strip shows some more than the selection. It comes after a profile that was asked for, which matters more: a service
// makes few answers at once. Whose its time was comes last.
async function loadStrip(from, to) {
	const parameters = [['from', at(from)], ['to', at(to)], ['buckets', dom.strip.bucketCount()]], turn = ++askedStrip;
	const show = async (more) => {
		const timeline = await ask('/api/v1/timeline', [...parameters, ...more]);

		if (turn === askedStrip)
			dom.strip.show(from, to, timeline, selectedTime(), state.strip === 'kind');
	};

	if (state.event !== 'cpu')
		parameters.push(['event', state.event]);
	await loading;
	if (turn !== askedStrip)
		return;
	try {
		await show([]);
	} catch (error) {
		if (turn === askedStrip) {
			dom.error.textContent = error.message;
			dom.error.hidden = false;
		}
		return;
	}
	await loading;
	if (turn !== askedStrip || !state.strip)
		return;
	if (to - from > PARTS_SECONDS_MAX) {
		dom.strip.legend.textContent = 'Of four hours or less this shows whose the time was.';
		return;
	}
	try {
		await show([['by', state.strip]]);
	} catch (error) {
		if (turn === askedStrip)
			dom.strip.legend.textContent = error.message;
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
	const rate = profile.is_cpu && profile.period > 0 ? ` at ${Math.round(1e9 / profile.period)} Hz` : '';

	zone = profile.zone ?? zone;
	document.title = `${profile.title} – Pilotlight`;
	dom.title.textContent = profile.title;
	dom.subtitle.textContent = `${profile.event_title}${rate} on ${profile.cpus} CPUs, ${formatAmount(profile.stored)}${lost}, ` +
		`${formatWhen(profile.start)}, ${timeOf(profile)}` +
		(profile.elided > 0 ? `; frames below the smallest shown have ${formatShare(profile.elided, profile.stored)}` +
			`${!hasService ? '' : isWhole ? ', and come when you zoom' : ', and come when you zoom or search'}` : '') +
		(base ? `; compared with ${base.title}` : '');
	if (dom.strip) {
		dom.strip.cpus = profile.cpus;
		dom.strip.select(...selectedTime());
	}
	makeTrees();
	showViews();
}

// As in the subtitles of other pictures.
function timeOf({ start, end, covered }) {
	return `${(end - start).toFixed(1)} s${covered < 0.99 * (end - start) ? `, ${covered.toFixed(1)} s of it recorded` : ''}`;
}

// How the address calls a label: threads and functions may have the same name. A text alone is that of the first label.
function keyOfLabel(label) {
	const [text, kind] = profile.labels[label];

	return `${text}\t${profile.kinds[kind]}`;
}

function labelOf(key) {
	const [name, word] = key.split('\t');

	return name ? profile.labels.findIndex(([text, kind]) => text === name && (!word || profile.kinds[kind] === word)) : -1;
}

function makeTrees() {
	const missing = ['only', 'focus'].filter((name) => isWhole && !difference && state[name] && labelOf(state[name]) < 0);

	dom.missing.hidden = missing.length === 0;
	dom.missing.textContent = missing.map((name) => `Nothing here is called ${state[name].split('\t')[0]}, so ${name}= leaves nothing out.`).join(' ');
	const hidden = new Set(state.hide.split('\n').map(labelOf).filter((label) => label >= 0));

	whole = difference ? null : treeOfProfile(profile);
	tree = difference ? difference.tree : whole;
	if (!difference && isFiltered())
		tree = filterTree(whole, { hidden, collapses: Boolean(state.collapse), only: labelOf(state.only), focus: labelOf(state.focus) });
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
	const synthetic = style.getPropertyValue('--synthetic'), unchanged = style.getPropertyValue('--all');

	if (difference && shown === tree)
		return (frame) => differenceColor(shown.before[frame], shown.after[frame], unchanged);
	if (state.color === 'binary')
		return (frame) => (binaryOf(frame) < 0 ? synthetic
			: BINARY_COLORS[binaryOf(frame) % BINARY_COLORS.length]);
	return (frame) => colors[profile.labels[shown.label[frame]][1]];
}

// Blue: more than before; orange: less. The shade is by the ratio.
function differenceColor(before, after, unchanged) {
	const by = changeOf(difference, before, after);

	if (by === 0)
		return unchanged;
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
	view.show(shown, { colorOf: colorOf(shown), nameOf: (frame) => nameOfLabel(shown.label[frame]), isMatch: matches,
		zoomed: shown === tree ? frameOfPath(tree, state.zoom.split('\n').map(labelOf)) : null });
}

function showViews() {
	if (!profile)
		return;
	findMatches();
	const label = labelOf(state.label), isSandwich = state.view === 'sandwich' && label >= 0;

	dom.flame.element.hidden = state.view === 'table';
	dom.callers.element.hidden = dom.middle.hidden = !isSandwich;
	dom.table.hidden = state.view !== 'table';
	for (const [name, element] of Object.entries(dom.tabs))
		element.setAttribute('aria-pressed', String(name === state.view));
	if (state.view === 'table') {
		showTable();
	} else if (isSandwich) {
		dom.middle.textContent = `Callers of ${nameOfLabel(label)} above, root last; what it calls below.`;
		dom.callers.setRootBelow(true);
		showFlame(dom.callers, treeFor(`callers ${label}`, () => sandwichTree(tree, label, true)));
		dom.flame.setRootBelow(false);
		showFlame(dom.flame, treeFor(`callees ${label}`, () => sandwichTree(tree, label, false)));
	} else {
		dom.flame.setRootBelow(state.root === 'bottom');
		showFlame(dom.flame, state.view === 'inverted' ? treeFor('inverted', () => invertTree(tree)) : tree);
	}
}

// --- the controls -----------------------------------------------------------------------------------------------------

function flameView() {
	const view = new FlameView({
		chosen: (frame) => { dom.detail.textContent = describe(view, frame); },
		menu: (frame, x, y) => openMenu(view, frame, x, y),
		hovered: (frame, x, y) => showTip(frame < 0 ? '' : describe(view, frame), x, y),
		zoomed: (frame) => keepZoom(view, frame),
	});

	return view;
}

// Zooming needs the frames that were too small before: of a large profile, those below the zoomed frame alone.
function keepZoom(view, frame) {
	if (view.tree !== tree)
		return;
	state.zoom = pathOf(tree, frame).map(keyOfLabel).join('\n');
	clearTimeout(dom.writing);
	dom.writing = setTimeout(() => writeAddress(false), RELOAD_MS);
	if (lacksDetail())
		load(true);
}

function lacksFrames() {
	return (!isWhole && wantsWhole()) || lacksDetail();
}

// Are there smaller frames below the zoomed one? If it is itself one of them, its ancestor is zoomed.
function lacksDetail() {
	return hasService && !difference && state.zoom && state.zoom !== detailed && dom.flame.tree === tree &&
		restBelow(whole, tree.from[dom.flame.zoomed]) > 0;
}

// The path to the zoomed frame in the profile: a filter leaves frames of it out. It is not known before there is a profile.
function zoomInProfile() {
	if (!state.zoom || !isFiltered())
		return state.zoom;
	return whole ? pathOf(whole, tree.from[frameOfPath(tree, state.zoom.split('\n').map(labelOf))]).map(keyOfLabel).join('\n') : '';
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
		choice('group', [['comm', 'by thread name'], ['unit', 'by unit'], ['container', 'by container'], ['pod', 'by pod'],
			['exe', 'by program'], ['process', 'by process'], ['thread', 'by thread']]),
		choice('against', [['', 'no comparison'], ['before', 'with the time before'], ['hour', 'with the hour before'], ['24h', 'with a day earlier'], ['7d', 'with a week earlier']]),
		choice('by', [['total', 'by share'], ['time', 'by time']]),
		choice('strip', [['kind', 'strip: kernel and user'], ['unit', 'strip: units'], ['comm', 'strip: thread names'], ['', 'strip: all']]));
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
		if (dom.strip?.timeline) {
			dom.strip.fillLegend();
			dom.strip.draw();
		}
		dom.heat?.draw();
	});

	dom.tabs = {};
	dom.found = make('output', { className: 'note' });
	return make('div', { className: 'bar' }, tab('flame', 'Flame graph'), tab('inverted', 'Bottom-up'), tab('table', 'Table'),
		tab('sandwich', 'Sandwich'), textField('q', 'Search; /expression/', 'Search for a text, or a /regular expression/'), dom.found,
		choice('root', [['top', 'root on top'], ['bottom', 'root at the bottom']]),
		choice('color', [['kind', 'colour by kind'], ['binary', 'colour by binary']]),
		choice('rows', [['function', 'table of functions'], ['binary', 'table of binaries'], ['group', 'table of outermost frames']]), theme,
		button('Help', () => dom.help.showModal(), 'Keys, and what is shown'));
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
		load();
		reloadStrip();
	};

	field.setAttribute('aria-label', 'Token');
	return make('div', { className: 'bar token', hidden: true },
		make('span', { textContent: 'Token of the service, the line of its BearerTokenFile:' }), field, button('Use it', give));
}

// As `pilotlight incidents NUMBER` compares it: around the time at which a threshold was exceeded, of the unit or container that
// exceeded it alone, by time, with the hour before.
function showIncident({ time, cause, from, to, subject }) {
	const isMeasured = cause !== 'manual';

	change({ from: at(isMeasured ? Math.max(from, time - 20) : from), to: at(isMeasured ? Math.min(to, time + 30) : to),
		against: 'hour', by: 'time', exact: '', zoom: '', event: 'cpu', select: subject ? selectionText(...subject) : '' });
}

function timeStrip() {
	return new TimeStrip({
		selected: (from, to) => change({ from: at(from), to: at(to), exact: '' }),
		incident: showIncident,
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
	dom.missing = make('div', { className: 'error', hidden: true, role: 'alert' });
	dom.token = tokenBar();
	dom.flame = flameView();
	dom.callers = flameView();
	dom.middle = make('div', { className: 'note', hidden: true });
	dom.table = make('div', { className: 'table', hidden: true });
	dom.detail = make('div', { className: 'detail note' });
	dom.tip = make('div', { className: 'tip', hidden: true, role: 'tooltip' });
	dom.menu = make('div', { className: 'menu', hidden: true, onkeydown: pressInMenu });
	dom.help = helpPanel();
	dom.callers.element.hidden = true;
	document.body.append(make('header', {}, dom.title, dom.subtitle));
	if (!inside) {
		dom.strip = timeStrip();
		dom.heat = heatMap();
		document.body.append(dom.strip.element, dom.heat.element, serviceBar());
	}
	document.body.append(viewBar(), dom.busy, dom.error, dom.missing, dom.token,
		make('main', { className: 'views' }, dom.callers.element, dom.middle, dom.flame.element, dom.table), dom.detail, dom.tip, dom.menu, dom.help);
	document.addEventListener('mousedown', (event) => { if (!dom.menu.contains(event.target)) dom.menu.hidden = true; });
	document.addEventListener('keydown', (event) => {
		if (['INPUT', 'SELECT'].includes(document.activeElement.tagName) || dom.help.open)
			return;
		if (event.key === '?') {
			dom.help.showModal();
		} else if (event.key === '/') {
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
	const other = document.getElementById('base');

	profile = JSON.parse(inside.textContent);
	if (other) {
		base = JSON.parse(other.textContent);
		DEFAULTS.by = state.by = other.dataset.by;
	}
	showProfile();
} else {
	load();
	reloadStrip();
}
