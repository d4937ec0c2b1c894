// SPDX-License-Identifier: GPL-2.0-or-later
// waiting.js FIFO FILE: workers that wait in functions of these names, one for the FIFO. Writes FILE once all do: their
// functions as V8 tells them, innermost first, each on a line, and an empty line behind each worker.
'use strict';
const { Worker, isMainThread, parentPort, workerData } = require('worker_threads');
const fs = require('fs');

const functions = { inWait, inRead, inCallback, inNested };

// The name that V8 makes of a symbol is not the function's own.
function nameOf(site) {
	const name = site.getFunctionName() || '[';

	return name.startsWith('[') ? '(anonymous)' : name;
}

function tell(innermost) {
	Error.stackTraceLimit = 100;
	Error.prepareStackTrace = (error, sites) => sites.slice(1);
	parentPort.postMessage([...innermost, ...new Error().stack.map(nameOf), ''].join('\n'));
}

function inWait() {
	tell([]);
	Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

function inRead() {
	const fifo = fs.openSync(workerData.fifo, 'r+');

	tell(['readSync']);
	fs.readSync(fifo, Buffer.alloc(1));
}

function inCallback() {
	[1].forEach(function each() {
		inWait();
	});
}

function nested(depth) {
	return depth > 0 ? nested(depth - 1) : inWait();
}

function inNested() {
	nested(20);
}

function waitForEver(wait) {
	wait();
}

function startWorkers() {
	const [, , fifo, file] = process.argv;
	const told = [];

	for (const name of Object.keys(functions))
		new Worker(__filename, { workerData: { name, fifo } }).on('message', (chain) => {
			if (told.push(chain) < Object.keys(functions).length)
				return;
			fs.writeFileSync(`${file}.part`, told.join('\n'));
			fs.renameSync(`${file}.part`, file);
		});
}

if (isMainThread)
	startWorkers();
else
	waitForEver(functions[workerData.name]);
