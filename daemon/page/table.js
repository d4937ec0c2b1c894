/* SPDX-License-Identifier: GPL-2.0-or-later */
// The table of functions. Its state and the profile are those of page.js.

let sorted = { key: 'self', isDown: true };

function tableRows() {
	const { self, total, from } = totalsOfTree(tree, profile.labels.length), rows = [];

	for (let label = 0; label < profile.labels.length; label++) {
		if (total[label] === 0 || (matches && !matches[label]))
			continue;
		const binary = from[label] >= 0 ? profile.frames.binary[from[label]] : -1;

		rows.push({ label, name: nameOfLabel(label), self: self[label], total: total[label], change: 0,
			binary: binary < 0 ? '' : profile.binaries[binary][0] });
	}
	if (difference)
		addChanges(rows);
	return rows;
}

function addChanges(rows) {
	const sides = [treeOfProfile(base), treeOfProfile(profile)];
	const before = totalsOfTree(sides[0], base.labels.length), names = new Map(base.labels.map((label, i) => [label.join('\0'), i]));
	const after = totalsOfTree(sides[1], profile.labels.length);

	for (const row of rows) {
		const i = names.get(profile.labels[row.label].join('\0'));

		row.change = changeOf(difference, i === undefined ? 0 : before.total[i], after.total[row.label] || 0);
	}
}

function compareRows(a, b) {
	const { key, isDown } = sorted;
	const order = typeof a[key] === 'string' ? a[key].localeCompare(b[key]) : key === 'change' ? Math.abs(a[key]) - Math.abs(b[key]) : a[key] - b[key];

	return isDown ? -order : order;
}

function showTable() {
	const rows = treeFor(`rows ${state.q}`, tableRows).sort(compareRows), whole = tree.total[0];
	const columns = [['self', 'Self'], ['total', 'Total'], ...(difference ? [['change', 'Change']] : []), ['name', 'Function'], ['binary', 'Binary']];
	const head = make('tr', {}, ...columns.map(([key, text]) => make('th', { scope: 'col' }, button(
		`${text}${sorted.key === key ? (sorted.isDown ? ' ▾' : ' ▴') : ''}`, () => {
			sorted = { key, isDown: sorted.key === key ? !sorted.isDown : !['name', 'binary'].includes(key) };
			showTable();
		}))));
	const body = rows.slice(0, TABLE_ROWS).map((row) => make('tr', { tabIndex: 0, onclick: () => openSandwich(row.label),
		onkeydown: (event) => { if (event.key === 'Enter') openSandwich(row.label); } },
	...columns.map(([key]) => make('td', {
		textContent: key === 'name' || key === 'binary' ? row[key] : key === 'change' ? (row.change ? formatPoints(row.change) : '')
			: formatShare(row[key], whole),
		title: key === 'self' || key === 'total' ? (difference ? '' : formatAmount(row[key])) : row[key] || '',
		className: key === 'change' ? (row.change > 0 ? 'more' : 'less') : '' }))));

	dom.table.replaceChildren(make('table', {}, make('thead', {}, head), make('tbody', {}, ...body)),
		make('p', { className: 'note', textContent: rows.length > TABLE_ROWS ? `${rows.length - TABLE_ROWS} more functions: search to see them.` : '' }));
}

function openSandwich(label) {
	change({ view: 'sandwich', label: nameOfLabel(label) });
}
