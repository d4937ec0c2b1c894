/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Words and figures. */

function share(part, whole) {
	return (whole > 0 ? 100 * part / whole : 0).toFixed(2) + " %";
}

function count(n) {
	return String(n).replace(/\B(?=(\d{3})+$)/g, ",");
}

/* Of other sources than CPU time: what the samples stand for, as in caption.c. */
function amount(n, of = period) {
	if (!of)
		return count(n);
	if (noun)
		return count(n * of);
	if (isBytes)
		return bytes(n * of);
	const ns = n * of;
	return ns >= 1e9 - 500 ? seconds(ns / 1e9) + " s" : (ns / 1e6).toFixed(3) + " ms";
}

function bytes(value) {
	const units = ["B", "KiB", "MiB", "GiB", "TiB"];
	let unit = 0;
	if (value < 1024)
		return `${value} B`;
	for (; unit + 1 < units.length && value >= 1023.95; unit++)
		value /= 1024;
	const [whole, part] = value.toFixed(1).split(".");
	return `${count(whole)}.${part} ${units[unit]}`;
}

function seconds(value) {
	const [whole, part] = value.toFixed(3).split(".");
	return count(whole) + "." + part;
}

function columns(character) {
	const point = character.codePointAt(0);
	return point >= 0x1100 && point !== 0x2026 && point !== 0xfffd ? 2 : 1;
}

function closing(text, at) {
	const closes = text[at] === "<" ? ">" : ")";
	for (let i = at, depth = 0; i < text.length; i++) {
		if (text[i] === text[at])
			depth++;
		else if (text[i] === closes && text[i - 1] !== "-" && --depth === 0)
			return i;
	}
	return -1;
}

/* A long name without template arguments and parameters, as in short_name.c. */
function shorten(text) {
	let short = "";
	for (let i = 0; i < text.length && text[0] !== "[";) {
		const begins = text[i] === "<" ? /[\w:]$/.test(short) && !/operator<?$/.test(short)
			: text[i] === "(" && !/^$|operator$/.test(short) && !text.startsWith("(anonymous namespace)", i);
		const end = begins ? closing(text, i) : -1;
		if (end >= 0 && text[i] === "(" && !/^(::|#)/.test(text.slice(end + 1, end + 3)))
			return short;
		if (end < 0)
			short += text[i];
		i = (end < 0 ? i : end) + 1;
	}
	return short || text;
}

function elide(text, room) {
	let used = 0, fits = "";
	if (text.length * 2 <= room)
		return text;
	for (const character of text) {
		used += columns(character);
		if (used > room) {
			let kept = Array.from(fits), wide = kept.reduce((n, c) => n + columns(c), 0);
			while (kept.length > 0 && wide > room - 1)
				wide -= columns(kept.pop());
			return kept.join("") + "\u2026";
		}
		fits += character;
	}
	return text;
}

/* The middle goes, since both ends of a long name or path tell something. */
function elideMiddle(text, room) {
	const characters = Array.from(text);
	if (characters.length <= room)
		return text;
	const ends = Math.max(1, Math.floor((room - 1) / 2));
	return characters.slice(0, ends).join("") + "\u2026" + characters.slice(-ends).join("");
}

/* For text in the proportional font, whose width only the browser knows. */
function fit(element, text, room) {
	element.textContent = text;
	for (let n = text.length; n > 4 && element.getComputedTextLength() > room;) {
		n = Math.min(n - 1, Math.floor(n * room / element.getComputedTextLength()));
		element.textContent = elideMiddle(text, n);
	}
}
