// SPDX-License-Identifier: GPL-2.0-or-later
// Runs heavy three times as long as light. The argument is the CPU time in seconds; the limit is a minute.
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

function cpuSeconds() {
	const { user, system } = process.cpuUsage();
	return (user + system) / 1e6;
}

const end = cpuSeconds() + Number(process.argv[2]);
const latest = Date.now() + 60000;
let total = 0;
while (cpuSeconds() < end && Date.now() < latest) {
	// Turns of equal length could be in step with the samples.
	const rounds = 100000 + Math.floor(Math.random() * 200000);
	total ^= heavy(rounds) + light(rounds);
}
process.exitCode = total === 0.5 ? 1 : 0;
