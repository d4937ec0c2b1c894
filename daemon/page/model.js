/* SPDX-License-Identifier: GPL-2.0-or-later */
// Profiles, as render/profile_json.h describes them, and the trees that the page draws. A tree has parallel arrays with
// its frames in pre-order: label, depth, total, self, parent (-1: none), end (behind the last descendant), offset (of
// its left edge, in samples), and from (a frame of the profile, for its binary and source line).

const MERGED_PARTS = 4000; // merged trees leave out frames below this part of the whole

function makeTree(count) {
	return {
		count, label: new Int32Array(count), depth: new Int32Array(count), total: new Float64Array(count),
		self: new Float64Array(count), parent: new Int32Array(count), end: new Int32Array(count),
		offset: new Float64Array(count), from: new Int32Array(count), depthMax: 0, before: null, after: null,
	};
}

// Fills what follows from label, depth and total.
function finishTree(tree) {
	const open = [], used = [];

	for (let i = 0; i < tree.count; i++) {
		const depth = tree.depth[i], parent = depth > 0 ? open[depth - 1] : -1;

		for (let d = depth; d < open.length; d++)
			tree.end[open[d]] = i;
		open.length = depth;
		open.push(i);
		tree.parent[i] = parent;
		tree.offset[i] = parent < 0 ? 0 : tree.offset[parent] + used[depth - 1];
		if (parent >= 0)
			used[depth - 1] += tree.total[i];
		used[depth] = 0;
		tree.depthMax = Math.max(tree.depthMax, depth);
	}
	for (const i of open)
		tree.end[i] = tree.count;
	return tree;
}

function treeOfProfile(profile) {
	const frames = profile.frames, tree = makeTree(frames.label.length);

	tree.label.set(frames.label);
	tree.depth.set(frames.depth);
	tree.total.set(frames.total);
	tree.self.set(frames.self);
	tree.from.forEach((_, i) => { tree.from[i] = i; });
	return finishTree(tree);
}

// A node under construction: its children are found by label.
function makeNode(label, from) {
	return { label, from, total: 0, self: 0, before: 0, after: 0, children: null };
}

function childOf(node, label, from) {
	if (!node.children)
		node.children = new Map();
	let child = node.children.get(label);
	if (!child)
		node.children.set(label, child = makeNode(label, from));
	return child;
}

// The tree of a node, siblings in the order in which they were added, or the largest first.
function treeOfNodes(root, isSorted) {
	const nodes = [], depths = [], waiting = [[root, 0]];

	while (waiting.length > 0) {
		const [node, depth] = waiting.pop();

		nodes.push(node);
		depths.push(depth);
		if (!node.children)
			continue;
		const children = [...node.children.values()];
		if (isSorted)
			children.sort((a, b) => b.total - a.total);
		for (let i = children.length - 1; i >= 0; i--)
			waiting.push([children[i], depth + 1]);
	}
	const tree = makeTree(nodes.length);
	tree.before = new Float64Array(nodes.length);
	tree.after = new Float64Array(nodes.length);
	nodes.forEach((node, i) => {
		tree.label[i] = node.label;
		tree.depth[i] = depths[i];
		tree.total[i] = node.total;
		tree.self[i] = node.self;
		tree.from[i] = node.from;
		tree.before[i] = node.before;
		tree.after[i] = node.after;
	});
	return finishTree(tree);
}

// Merges frames by label, level by level: `entries` are [frame, weight], and next(frame, weight) gives those of the next
// level. Frames below `minimum` are left out.
function mergeInto(tree, node, entries, next, minimum) {
	const waiting = [[node, entries]];

	while (waiting.length > 0) {
		const [parent, level] = waiting.pop(), groups = new Map();

		for (const [frame, weight] of level) {
			const label = tree.label[frame];
			let group = groups.get(label);

			if (!group)
				groups.set(label, group = { weight: 0, entries: [], from: tree.from[frame] });
			group.weight += weight;
			group.entries.push([frame, weight]);
		}
		let rest = parent.total;
		for (const [label, group] of groups) {
			if (group.weight < minimum)
				continue;
			const child = childOf(parent, label, group.from);
			child.total = group.weight;
			rest -= group.weight;
			waiting.push([child, group.entries.flatMap(([frame, weight]) => next(frame, weight))]);
		}
		parent.self = Math.max(rest, 0);
	}
}

function callersOf(tree, frame, weight) {
	const parent = tree.parent[frame];

	return parent > 0 ? [[parent, weight]] : [];
}

function calleesOf(tree, frame) {
	const callees = [];

	for (let i = frame + 1; i < tree.end[frame]; i = tree.end[i])
		callees.push([i, tree.total[i]]);
	return callees;
}

// Bottom-up: below the root the functions by their self samples, above each its callers.
function invertTree(tree) {
	const root = makeNode(tree.label[0], tree.from[0]), leaves = [];

	root.total = tree.total[0];
	for (let i = 1; i < tree.count; i++)
		if (tree.self[i] > 0)
			leaves.push([i, tree.self[i]]);
	mergeInto(tree, root, leaves, (frame, weight) => callersOf(tree, frame, weight), root.total / MERGED_PARTS);
	return treeOfNodes(root, true);
}

// The outermost frames of a label: of a recursion only the first.
function outermostFrames(tree, label) {
	const frames = [];

	for (let i = 0; i < tree.count;) {
		if (tree.label[i] === label) {
			frames.push([i, tree.total[i]]);
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return frames;
}

// The callers, or the callees, of a function, merged over all places where it occurs.
function sandwichTree(tree, label, isCallers) {
	const frames = outermostFrames(tree, label);
	const root = makeNode(label, frames.length > 0 ? tree.from[frames[0][0]] : 0);
	const next = isCallers ? (frame, weight) => callersOf(tree, frame, weight) : (frame) => calleesOf(tree, frame);

	for (const [, weight] of frames)
		root.total += weight;
	mergeInto(tree, root, frames.flatMap(([frame, weight]) => next(frame, weight)), next, root.total / MERGED_PARTS);
	return treeOfNodes(root, true);
}

// By frame: 2 in the stacks below a frame of the label, 1 on the way to one, else 0.
function marksOf(tree, label) {
	const marks = new Uint8Array(tree.count);

	for (const [frame] of outermostFrames(tree, label)) {
		marks.fill(2, frame, tree.end[frame]);
		for (let i = tree.parent[frame]; i >= 0; i = tree.parent[i])
			marks[i] = 1;
	}
	return marks;
}

// Without the functions in `hidden`, whose callees move up; with recursions as one frame, if wanted; only below outermost
// frames of the label `only`; and only stacks with a function of the label `focus`. A label of -1 means all.
function filterTree(tree, { hidden = new Set(), collapses = false, only = -1, focus = -1 }) {
	const root = makeNode(tree.label[0], tree.from[0]), nodes = [root], marks = focus < 0 ? null : marksOf(tree, focus);

	for (let i = 1; i < tree.count; i++) {
		const depth = tree.depth[i], label = tree.label[i];
		let parent = nodes[depth - 1];

		if (parent === null || (depth === 1 && only >= 0 && label !== only) || (marks && !marks[i])) {
			nodes[depth] = null;
			continue;
		}
		if (!hidden.has(label) && !(collapses && parent.label === label && parent !== root))
			parent = childOf(parent, label, tree.from[i]);
		nodes[depth] = parent;
		if (!marks || marks[i] === 2)
			parent.self += tree.self[i];
	}
	sumNodes(root);
	return treeOfNodes(root, false);
}

// Totals from self samples, without recursion: stacks may be deep.
function sumNodes(root) {
	const order = [], waiting = [root];

	while (waiting.length > 0) {
		const node = waiting.pop();

		order.push(node);
		if (node.children)
			waiting.push(...node.children.values());
	}
	for (const node of order.reverse()) {
		node.total = node.self;
		if (node.children)
			for (const child of node.children.values())
				node.total += child.total;
	}
}

// By key, which keyOf(frame) gives for each frame (-1: none): self samples; total samples, with those of stacks that have
// a key more than once counted once; and the first frame of each.
function totalsOfTree(tree, keyCount, keyOf = (frame) => tree.label[frame]) {
	const self = new Float64Array(keyCount), total = new Float64Array(keyCount);
	const first = new Int32Array(keyCount).fill(-1), open = new Int32Array(keyCount), path = [];

	for (let i = 1; i < tree.count; i++) {
		const key = keyOf(i);

		while (path.length >= tree.depth[i]) {
			const left = path.pop();

			if (left >= 0)
				open[left]--;
		}
		path.push(key);
		if (key < 0)
			continue;
		if (open[key]++ === 0)
			total[key] += tree.total[i];
		self[key] += tree.self[i];
		if (first[key] < 0)
			first[key] = i;
	}
	return { self, total, first };
}

// The labels from the outermost frame to this one; and the frame with such a path, as far as there is one.
function pathOf(tree, frame) {
	const path = [];

	for (let i = frame; i > 0; i = tree.parent[i])
		path.push(tree.label[i]);
	return path.reverse();
}

function frameOfPath(tree, path) {
	let frame = 0;

	for (const label of path) {
		let child = frame + 1;

		while (child < tree.end[frame] && tree.label[child] !== label)
			child = tree.end[child];
		if (child >= tree.end[frame])
			break;
		frame = child;
	}
	return frame;
}

// Samples below a frame that are of frames too small to be here.
function restBelow(tree, frame) {
	let rest = tree.total[frame];

	for (let i = frame; i < tree.end[frame]; i++)
		rest -= tree.self[i];
	return rest;
}

// Samples whose stacks have a label of `isMatch`.
function matchedTotal(tree, isMatch) {
	let matched = 0;

	for (let i = 1; i < tree.count;) {
		if (isMatch[tree.label[i]]) {
			matched += tree.total[i];
			i = tree.end[i];
		} else {
			i++;
		}
	}
	return matched;
}

// Both profiles in one tree. The labels are those of `after`, with those of `before` that it lacks. A frame is as wide
// as the mean of its shares of both sides, so a frame that is gone is drawn, too. By time, the whole of a side is what one CPU,
// or one thread, has in its time, whatever a sample stands for.
function differenceOf(before, after, isByTime) {
	const labels = after.labels.slice(), numbers = new Map(labels.map((label, i) => [label.join('\0'), i]));
	const mapped = before.labels.map((label) => {
		const key = label.join('\0');

		if (!numbers.has(key))
			numbers.set(key, labels.push(label) - 1);
		return numbers.get(key);
	});
	const sides = [before, after].map(treeOfProfile), wholes = [before, after].map((profile, side) =>
		(isByTime ? profile.covered / profile.period : sides[side].total[0]) || 1);
	const root = makeNode(sides[1].label[0], 0);

	sides.forEach((tree, side) => {
		const nodes = [root];

		for (let i = 0; i < tree.count; i++) {
			const depth = tree.depth[i], label = side ? tree.label[i] : mapped[tree.label[i]];
			const node = depth === 0 ? root : childOf(nodes[depth - 1], label, side ? tree.from[i] : -1);

			if (side)
				node.from = tree.from[i];
			node[side ? 'after' : 'before'] += tree.total[i];
			node.self += tree.self[i] / wholes[side] / 2;
			nodes[depth] = node;
		}
	});
	sumNodes(root);
	return { profile: { ...after, labels }, tree: treeOfNodes(root, false), wholes };
}

// The change of a frame's share, and 0 if it may be chance: within three standard deviations of what sampling gives.
function changeOf(difference, before, after) {
	const [wholeBefore, wholeAfter] = difference.wholes;
	const change = after / wholeAfter - before / wholeBefore;
	const deviation = Math.sqrt(Math.max(before, 1) / wholeBefore ** 2 + Math.max(after, 1) / wholeAfter ** 2);

	return Math.abs(change) > 3 * deviation ? change : 0;
}
