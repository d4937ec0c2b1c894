// SPDX-License-Identifier: GPL-2.0-or-later
// V8 puts count() into add(), and that into turn(), which takes all the time. The argument is the CPU time in seconds,
// within ten minutes.
'use strict';

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

let total = 0;
const { user } = process.cpuUsage(), end = user + Number(process.argv[2]) * 1e6, latest = Date.now() + 600000;

// Its loops are compiled while they run: that is not the code that the function has.
function turn() {
	while (process.cpuUsage().user < end && Date.now() < latest)
		for (let i = 0; i < 100; i++)
			total ^= add(2000);
}

turn();
