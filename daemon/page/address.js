/* SPDX-License-Identifier: GPL-2.0-or-later */
// The state of the page is in its address, behind the '#'.

// `zoom` and `hide` have keys of labels, a line each: the path to the zoomed frame, and the functions that are left out.
const DEFAULTS = {
	view: 'flame', root: 'top', color: 'kind', rows: 'function', q: '', zoom: '', last: '1h', event: 'cpu', select: '', group: 'comm',
	against: '', by: 'total', strip: 'kind', label: '', exact: '', only: '', focus: '', hide: '', collapse: '',
};
const state = { ...DEFAULTS };

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

const LOADED = ['from', 'to', 'last', 'event', 'select', 'group', 'against', 'by', 'exact'];
const FILTERS = ['only', 'focus', 'hide', 'collapse'];

function update(before) {
	syncControls();
	if (!inside && LOADED.some((name) => state[name] !== before[name])) {
		load();
		return;
	}
	if (!inside && state.strip !== before.strip)
		reloadStrip();
	if (FILTERS.some((name) => state[name] !== before[name]))
		makeTrees();
	showViews();
	if (lacksFrames())
		load(true);
}
