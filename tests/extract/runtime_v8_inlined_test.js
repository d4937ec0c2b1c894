// SPDX-License-Identifier: GPL-2.0-or-later
// Runs functions that V8 puts into their callers, until it is killed. Before, it tells patterns of the calls that must
// be seen at some time, innermost first, each with the line on which it is. Behind them may be what has called them.
'use strict';
const { writeSync } = require('node:fs');
const told = ['count *;add 19;twice 24;forever 32*', 'count *;add 19;twice 25;forever 32*'];
let total = 0;

function count(rounds) {
	let sum = 1;
	for (let i = 0; i < rounds; i++)
		sum =
			(Math.imul(sum, 31) + i) | 0;
	return sum;
}

function add(rounds) {
	return 1 +
		count(rounds);
}

function twice(rounds) {
	return (
		add(rounds) +
		add(rounds + 1)
	);
}

// This loop is compiled while it runs: it is not the code that its function has.
function forever() {
	for (;;)
		total ^= twice(1000);
}

writeSync(1, told.join('\n') + '\nend\n');
forever();
