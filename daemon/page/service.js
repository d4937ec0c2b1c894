/* SPDX-License-Identifier: GPL-2.0-or-later */
// Questions to the service.

// What a service on TCP may ask for. It lives as long as the page, and is in no address.
let token = '';

const STATUS_FIELD = 'Pilotlight-Status';

async function ask(path, parameters) {
	const query = new URLSearchParams(parameters);

	if (secret)
		query.append('key', secret);
	// With status 200, an answer without a profile is no message on the browser's console.
	const given = token, headers = { [STATUS_FIELD]: '200', ...(given ? { Authorization: `Bearer ${given}` } : {}) };
	const answer = await fetch(`${path}?${query}`, { credentials: 'omit', cache: 'no-store', headers }).catch(() => {
		throw new Error('No answer: the service, or `pilotlight ui`, may have ended. Ask again when it runs.');
	});
	const status = Number(answer.headers.get(STATUS_FIELD)) || answer.status;

	// The user may have given another one meanwhile.
	if (status === 401 && given !== token)
		return ask(path, parameters);
	if (status === 401) {
		dom.token.hidden = false;
		dom.token.querySelector('input').focus();
		throw new Error(token ? 'The service refuses this token.' : 'The service asks for its token.');
	}
	if (status >= 400)
		throw Object.assign(new Error((await answer.text()).trim() || `The service answered with ${status}.`), { status });
	return answer.json();
}

// While the first window of a service is open, there is none without ending it.
async function askProfile(parameters) {
	const others = parameters.filter(([name]) => name !== 'fresh');

	try {
		return await ask('/api/v1/profile', parameters);
	} catch (error) {
		if (error.status !== 404 || others.length === parameters.length)
			throw error;
		return ask('/api/v1/profile', others);
	}
}

// A new program has no samples in the earlier time. Then the answer is that time with none. A wrong name fails at the
// other side. A time without times of samples fails again, with its message. Its spans may have been dropped.
async function askBase(parameters) {
	const kept = parameters.filter(([name]) => ['from', 'to', 'event', 'format', 'windows'].includes(name));
	const selected = selectionParameters().map(([name]) => name).filter((name) => name !== 'event');

	try {
		return await askProfile(parameters);
	} catch (error) {
		if (error.status !== 404 || selected.length === 0 || selected.includes('trace') || selected.includes('span'))
			throw error;
		const whole = await ask('/api/v1/profile', [...kept, ['frames', 1]]);

		return { ...whole, title: `${whole.title}, nothing of the selection`, stored: 0, lost: 0, elided: 0, labels: [whole.labels[0]],
			frames: Object.fromEntries(Object.keys(whole.frames).map((key) => [key, [['binary', 'file'].includes(key) ? -1 : 0]])) };
	}
}

// "unit:nginx.service comm:\"Web Content\"" as parameters of a selection.
function selectionParameters() {
	const list = [];

	for (const text of state.select.match(/(?:[^\s"]|"[^"]*")+/g) || []) {
		const word = text.replace(/"/g, ''), at = word.indexOf(':');

		list.push(at > 0 ? [word.slice(0, at), word.slice(at + 1)] : ['comm', word]);
	}
	if (state.event !== 'cpu')
		list.push(['event', state.event]);
	return list;
}

// One of its words. A quotation mark in a name cannot be written, but matched.
function selectionText(name, value) {
	return `${name}:${/[\s"]/.test(value) ? `"${value.replace(/"/g, '?')}"` : value}`;
}

const PATH_FRAMES = 1000; // a service takes 12 KiB of parameters, and below an ancestor all is there, too

// The path to a frame, keys of labels in lines, as a question has it: FNV-1a of each key, since names are long.
function hashesOfPath(path) {
	return path.split('\n').slice(0, PATH_FRAMES).map((key) => (new TextEncoder().encode(key)
		.reduce((hash, byte) => Math.imul(hash ^ byte, 0x01000193), 0x811c9dc5) >>> 0).toString(16)).join('.');
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
	const [from, to] = selectedTime();

	if (state.against === 'hour')
		return [from - 3600, from];
	const ago = state.against === 'before' ? to - from : durationOf(state.against);

	return ago > 0 ? [from - ago, to - ago] : null;
}

const at = (seconds) => `@${seconds.toFixed(3)}`;
