// SPDX-License-Identifier: GPL-2.0-or-later
// Of the time in main(), heavy() takes 60 %, light() 30 % and Shape.tiny() 10 %. Runs in a worker thread, too. The
// arguments are the CPU time in seconds, within ten minutes, and "worker".
'use strict';
const { Worker, isMainThread, workerData } = require('node:worker_threads');

function burn(rounds) {
	let sum = 1;
	for (let i = 0; i < rounds; i++)
		sum = (Math.imul(sum, 31) + i) | 0;
	return sum;
}

function heavy(rounds) {
	return burn(6 * rounds) + 1;
}

// Through a function of V8's own.
function light(rounds) {
	return [rounds].map((one) => burn(3 * one) + 1)[0];
}

class Shape {
	tiny(rounds) {
		return burn(rounds) + 1;
	}
}

function main(seconds) {
	const shape = new Shape();
	const { user, system } = process.cpuUsage();
	const end = user + system + seconds * 1e6, latest = Date.now() + 600000;
	let total = 0;

	for (let now = 0; now < end && Date.now() < latest;) {
		// Turns of equal length could be in step with the samples.
		const rounds = 2000 + Math.floor(Math.random() * 4000);
		total ^= heavy(rounds) + light(rounds) + shape.tiny(rounds);
		const used = process.cpuUsage();
		now = used.user + used.system;
	}
	return total;
}

function inWorker(seconds) {
	return main(seconds);
}

if (!isMainThread)
	inWorker(workerData);
else if (process.argv[3] === 'worker')
	new Worker(__filename, { workerData: Number(process.argv[2]) });
else
	main(Number(process.argv[2]));
