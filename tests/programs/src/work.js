// SPDX-License-Identifier: GPL-2.0-or-later
function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

function turn(seed) {
	const items = JSON.parse(JSON.stringify(Array.from({length: 500}, (_, i) => ({key: `k${i * seed % 101}`, i}))));
	items.sort((a, b) => a.key < b.key ? -1 : 1);
	return items.map(item => item.key.replace(/k(\d+)/, '$1')).join().length + fibonacci(18);
}

const end = Date.now() + 600000;
for (let seed = 0; Date.now() < end; seed++)
	turn(seed);
