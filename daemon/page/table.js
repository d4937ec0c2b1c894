/* SPDX-License-Identifier: GPL-2.0-or-later */
// The table of functions, binaries or outermost frames. Its state and the profile are those of page.js.

let sorted = { key: 'self', isDown: true };

// Whose rows they are: the key of a frame and its name, the number of keys, and what a row does when it is chosen.
function rowsBy() {
	if (state.rows === 'group')
		return { count: profile.labels.length, keyOf: (frame) => (tree.depth[frame] === 1 ? tree.label[frame] : -1), nameOf: nameOfLabel,
			head: 'Outermost frame', choose: (label) => change({ view: 'flame', zoom: keyOfLabel(label) }) };
	if (state.rows === 'binary')
		return { count: profile.binaries.length, keyOf: binaryOf, nameOf: (binary) => profile.binaries[binary][0] || '[unknown]',
			head: 'Binary', choose: () => change({ color: 'binary', view: 'flame' }) };
	return { count: profile.labels.length, keyOf: (frame) => tree.label[frame], nameOf: nameOfLabel, head: 'Function', choose: openSandwich };
}

function binaryOf(frame) {
	return tree.from[frame] >= 0 ? profile.frames.binary[tree.from[frame]] : -1;
}

function tableRows() {
	const by = rowsBy(), { self, total, first } = totalsOfTree(tree, by.count, by.keyOf), rows = [];

	for (let key = 0; key < by.count; key++) {
		if (total[key] === 0 || (matches && !matches[tree.label[first[key]]] && state.rows !== 'binary'))
			continue;
		const binary = binaryOf(first[key]);

		rows.push({ key, name: by.nameOf(key), self: state.rows === 'group' ? total[key] : self[key], total: total[key], change: 0,
			binary: binary < 0 ? '' : profile.binaries[binary][state.rows === 'binary' ? 1 : 0] });
	}
	if (difference && state.rows === 'function')
		addChanges(rows);
	return rows;
}

function addChanges(rows) {
	const sides = [treeOfProfile(base), treeOfProfile(profile)];
	const before = totalsOfTree(sides[0], base.labels.length), names = new Map(base.labels.map((label, i) => [label.join('\0'), i]));
	const after = totalsOfTree(sides[1], profile.labels.length);

	for (const row of rows) {
		const i = names.get(profile.labels[row.key].join('\0'));

		row.change = changeOf(difference, i === undefined ? 0 : before.total[i], after.total[row.key] || 0);
	}
}

function compareRows(a, b) {
	const { key, isDown } = sorted;
	const order = typeof a[key] === 'string' ? a[key].localeCompare(b[key]) : key === 'change' ? Math.abs(a[key]) - Math.abs(b[key]) : a[key] - b[key];

	return isDown ? -order : order;
}

function showTable() {
	const rows = treeFor(`${state.rows} ${state.q}`, tableRows).sort(compareRows), whole = tree.total[0], by = rowsBy();
	const columns = [...(state.rows === 'group' ? [] : [['self', 'Self']]), ['total', 'Total'], ...(difference ? [['change', 'Change']] : []),
		['name', by.head], ['binary', state.rows === 'binary' ? 'Build-id' : 'Binary']];
	const head = make('tr', {}, ...columns.map(([key, text]) => make('th', { scope: 'col' }, button(
		`${text}${sorted.key === key ? (sorted.isDown ? ' ▾' : ' ▴') : ''}`, () => {
			sorted = { key, isDown: sorted.key === key ? !sorted.isDown : !['name', 'binary'].includes(key) };
			showTable();
		}))));
	const body = rows.slice(0, TABLE_ROWS).map((row) => make('tr', { tabIndex: 0, onclick: () => by.choose(row.key),
		onkeydown: (event) => pressInTable(event, () => by.choose(row.key)) },
	...columns.map(([key]) => make('td', {
		textContent: key === 'name' || key === 'binary' ? row[key] : key === 'change' ? (row.change ? formatPoints(row.change) : '')
			: formatShare(row[key], whole),
		title: key === 'self' || key === 'total' ? (difference ? '' : formatAmount(row[key])) : row[key] || '',
		className: key === 'change' ? (row.change > 0 ? 'more' : 'less') : '' }))));

	dom.table.replaceChildren(make('table', {}, make('thead', {}, head), make('tbody', {}, ...body)),
		make('p', { className: 'note', textContent: rows.length > TABLE_ROWS ? `${rows.length - TABLE_ROWS} more rows: search to see them.` : '' }));
}

function pressInTable(event, choose) {
	const row = event.currentTarget, next = { ArrowDown: row.nextSibling, ArrowUp: row.previousSibling }[event.key];

	if (event.key === 'Enter')
		choose();
	else if (next)
		next.focus();
	else
		return;
	event.preventDefault();
}

function openSandwich(label) {
	change({ view: 'sandwich', label: keyOfLabel(label) });
}
