// SPDX-License-Identifier: GPL-2.0-or-later
// JIT code, its runtime's C++, regular expressions.
function fibonacci(n) {
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

for (;;) {
	fibonacci(20);
	const items = [...Array(1000).keys()].map((i) => ({ number: i, text: String(i) }));
	JSON.parse(JSON.stringify(items));
	"aaaa".repeat(100).replace(/(a+)b/g, "x");
}
