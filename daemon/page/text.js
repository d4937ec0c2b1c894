/* SPDX-License-Identifier: GPL-2.0-or-later */
// Elements and texts. Names only ever become text, never markup.

function make(tag, properties = {}, ...children) {
	const { data, role, ...others } = properties, element = Object.assign(document.createElement(tag), others);

	if (role)
		element.setAttribute('role', role);
	for (const [key, value] of Object.entries(data || {}))
		element.dataset[key] = value;
	element.append(...children);
	return element;
}

function button(text, action, title = '') {
	return make('button', { type: 'button', textContent: text, title, onclick: action });
}

// --- times ------------------------------------------------------------------------------------------------------------

// Seconds by which clocks are ahead of UTC: those of the titles, which the service makes, once it has told.
let zone = -new Date().getTimezoneOffset() * 60;

function localTime(seconds) {
	return new Date(Math.round((seconds + zone) * 1000)).toISOString();
}

function formatDate(seconds) {
	return localTime(seconds).slice(0, 10);
}

// With this many characters: "03:12:07.250" has 12.
function formatClock(seconds, length = 8) {
	return localTime(seconds).slice(11, 11 + length);
}

function formatWhen(seconds) {
	return `${formatDate(seconds)} ${formatClock(seconds)}`;
}

// --- amounts ----------------------------------------------------------------------------------------------------------

function formatTime(ns) {
	const units = [[1e9, 's'], [1e6, 'ms'], [1e3, 'µs']];
	const [size, name] = units.find(([least]) => ns >= least) || [1, 'ns'];

	return `${(ns / size).toFixed(size === 1 ? 0 : 3)} ${name}`;
}

function formatBytes(bytes) {
	const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'], i = Math.min(Math.floor(Math.log2(Math.max(bytes, 1)) / 10), 4);

	return `${(bytes / 1024 ** i).toFixed(i ? 2 : 0)} ${units[i]}`;
}

function formatAmount(samples, { is_cpu: isCpu, unit, period } = profile) {
	if (isCpu)
		return `${Math.round(samples).toLocaleString('en')} samples`;
	if (unit === 'nanoseconds')
		return formatTime(samples * period);
	return unit === 'bytes' ? formatBytes(samples * period) : Math.round(samples * period).toLocaleString('en');
}

function formatShare(part, whole) {
	return `${(whole ? part / whole * 100 : 0).toFixed(2)} %`;
}

function formatPoints(change) {
	return `${change > 0 ? '+' : ''}${(change * 100).toFixed(2)} points`;
}
