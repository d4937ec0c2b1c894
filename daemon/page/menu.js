/* SPDX-License-Identifier: GPL-2.0-or-later */
// The text that describes a frame, the menu of a frame, and the help.

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

// What a selection calls the outermost frames.
const GROUP_PARAMETERS = { comm: 'comm', unit: 'unit', exe: 'exe', process: 'pid', thread: 'tid' };

// The label of the outermost frame above `frame`, if it is that of a thread or of its group and not of samples that were
// lost; else -1.
function groupOf(view, frame) {
	let top = frame;

	while (view.tree.depth[top] > 1)
		top = view.tree.parent[top];
	return view.tree.depth[top] === 1 && profile.kinds[profile.labels[view.tree.label[top]][1]] === 'command' ? view.tree.label[top] : -1;
}

// Asks for this group alone; or, if no selection can, shows it alone: some parameters match a prefix, too, and globs.
function showOnly(label) {
	const name = nameOfLabel(label), number = /\[(\d+)\]$/.exec(name), isNumber = ['process', 'thread'].includes(state.group);

	if (inside || ['container', 'pod'].includes(state.group) || (isNumber ? !number : /["*?[]/.test(name))) {
		change({ only: keyOfLabel(label) });
		return;
	}
	addToSelection(GROUP_PARAMETERS[state.group], isNumber ? number[1] : name);
}

function addToSelection(parameter, value) {
	const word = /\s/.test(value) ? `${parameter}:"${value}"` : `${parameter}:${value}`;

	change({ select: `${state.select} ${word}`.trim(), zoom: '' });
}

function hide(label) {
	change({ hide: [...state.hide.split('\n').filter(Boolean), keyOfLabel(label)].join('\n') });
}

function buildIdOf(view, frame) {
	const from = view.tree.from[frame], binary = from >= 0 ? profile.frames.binary[from] : -1;

	return binary >= 0 ? profile.binaries[binary][1] : '';
}

// A comparison shows both sides, and filters work on one.
function filterItems(view, frame, item) {
	const label = view.tree.label[frame], group = groupOf(view, frame), depth = view.tree.depth[frame];

	if (difference)
		return [];
	return [
		...(depth > 1 ? [item('Focus: only stacks with this function', () => change({ focus: keyOfLabel(label), zoom: '' })),
			item('Hide this function', () => hide(label))] : []),
		item(state.collapse ? 'Show recursions' : 'Collapse recursions', () => change({ collapse: state.collapse ? '' : '1' })),
		...(group >= 0 ? [item(`Only ${nameOfLabel(group)}`, () => showOnly(group))] : []),
		...(isFiltered() ? [item('Show all again', () => change({ only: '', focus: '', hide: '', collapse: '' }))] : []),
	];
}

function closeMenu() {
	dom.menu.hidden = true;
	dom.menu.opener.focus();
}

function openMenu(view, frame, x, y) {
	const label = view.tree.label[frame], buildId = inside ? '' : buildIdOf(view, frame);
	const item = (text, action) => button(text, () => { closeMenu(); action(); });

	dom.menu.opener = view.canvas;
	dom.menu.replaceChildren(
		item('Zoom here', () => view.zoom(frame)), item('Zoom out', () => view.zoom(0)),
		item('Callers and callees', () => openSandwich(label)),
		item('Search this name', () => change({ q: nameOfLabel(label) }, false)),
		...filterItems(view, frame, item),
		...(buildId ? [item('Only stacks with this binary', () => addToSelection('build-id', buildId))] : []),
		item('Copy the name', () => navigator.clipboard?.writeText(nameOfLabel(label))));
	dom.menu.hidden = false;
	dom.menu.style.left = `${Math.max(Math.min(x, innerWidth - dom.menu.offsetWidth - 8), 0)}px`;
	dom.menu.style.top = `${Math.max(Math.min(y, innerHeight - dom.menu.offsetHeight - 8), 0)}px`;
	dom.menu.firstChild.focus();
}

const HELP = [
	['Flame graph', 'A click or Enter zooms, Escape zooms out one frame, Home goes to the root. Arrows move from frame to frame. ' +
		'A right click or m opens the menu of a frame.'],
	['Search', '/ goes to it. A text is found in any case; between slashes it is a regular expression, such as /^mem(cpy|set)/.'],
	['Table', 'The heads sort. A click or Enter shows the callers and callees of a function. Arrows move from row to row.'],
	['Time', 'Drag to select, or click. The wheel with Ctrl or Shift, + and - zoom, arrows move, Enter selects all that is shown. ' +
		'A flag is an incident: a click on it, or i, compares it with the hour before. ' +
		'Red on top was lost, a triangle is another rate of samples, a dashed line a start of the machine.'],
	['Heat map', 'It comes with selections of five minutes or less. Drag to select exactly; or move with arrows, select with Shift and ' +
		'arrows, and Enter. Escape goes back to whole windows.'],
	['Comparison', 'Blue has become more, orange less, by share or by time. What may be chance has no colour.'],
	['Address', 'It has all of this view: a bookmark, or a link for others, shows the same again.'],
];

function helpPanel() {
	const panel = make('dialog', { className: 'help' });

	panel.append(make('dl', {}, ...HELP.flatMap(([term, text]) => [make('dt', { textContent: term }), make('dd', { textContent: text })])),
		button('Close', () => panel.close()));
	return panel;
}

function pressInMenu(event) {
	const items = [...dom.menu.children], i = items.indexOf(document.activeElement);

	if (event.key === 'Escape')
		closeMenu();
	else if (event.key === 'ArrowDown')
		items[(i + 1) % items.length].focus();
	else if (event.key === 'ArrowUp')
		items[(i + items.length - 1) % items.length].focus();
	else
		return;
	event.preventDefault();
}
