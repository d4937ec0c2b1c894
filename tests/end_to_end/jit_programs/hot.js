// SPDX-License-Identifier: GPL-2.0-or-later
// Runs heavy three times as long as light, for as many seconds as the argument says.
'use strict';

function heavy(rounds) {
	let sum = 1;
	for (let i = 0; i < 3 * rounds; i++)
		sum = (Math.imul(sum, 31) + i) | 0;
	return sum;
}

function light(rounds) {
	let sum = 1;
	for (let i = 0; i < rounds; i++)
		sum = (Math.imul(sum, 31) + i) | 0;
	return sum;
}

const end = Date.now() + 1000 * Number(process.argv[2]);
let total = 0;
while (Date.now() < end)
	total ^= heavy(200000) + light(200000);
process.exitCode = total === 0.5 ? 1 : 0;
