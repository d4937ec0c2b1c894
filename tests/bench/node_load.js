// SPDX-License-Identifier: GPL-2.0-or-later
// Keeps a CPU busy for as many seconds as its argument says, in functions that call each other some 20 deep, part of
// them by way of V8's own functions.
'use strict';

function work(rounds) {
	let sum = 0;
	for (let i = 0; i < rounds; i++)
		sum = (Math.imul(sum, 31) + i) | 0;
	return sum;
}

function descend(depth) {
	if (depth === 0)
		return work(20000);
	return depth % 4 === 0 ? [depth].map((one) => descend(one - 1))[0] + 1 : descend(depth - 1) + 1;
}

const end = Date.now() + 1000 * Number(process.argv[2]);
let total = 0;
while (Date.now() < end)
	for (let i = 0; i < 1000; i++)
		total ^= descend(16);
process.exitCode = total === 0.5 ? 1 : 0;
