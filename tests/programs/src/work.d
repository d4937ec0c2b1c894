// SPDX-License-Identifier: GPL-2.0-or-later
import std.algorithm, std.array, std.conv, std.format;

int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

int descend(int depth)
{
	if (depth == 0)
		throw new Exception("deepest");
	return descend(depth - 1) + 1;
}

size_t turn(int seed)
{
	int[string] words;
	foreach (i; 0 .. 300)
		words[format("word%d", seed * i % 101)]++;
	auto names = words.keys.sort!((a, b) => a < b).array;
	try
		descend(5);
	catch (Exception e)
		return names.join(" ").length + fibonacci(18);
	return 0;
}

void main()
{
	size_t sum;
	for (int seed = 0;; seed++)
		sum += turn(seed);
}
