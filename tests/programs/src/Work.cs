// SPDX-License-Identifier: GPL-2.0-or-later
using System;
using System.Collections.Generic;
using System.Linq;

class Work {
	static int Fibonacci(int n) { return n < 2 ? n : Fibonacci(n - 1) + Fibonacci(n - 2); }

	static int Descend(int depth)
	{
		if (depth == 0)
			throw new Exception("deepest");
		return Descend(depth - 1) + 1;
	}

	static int Turn(int seed)
	{
		var words = new Dictionary<string, int>();
		for (int i = 0; i < 300; i++)
			words["word" + seed * i % 101] = i;
		try {
			Descend(5);
		} catch (Exception) {
			return string.Join(" ", words.Keys.OrderBy(word => word)).Length + Fibonacci(18);
		}
		return 0;
	}

	static void Main()
	{
		for (int seed = 0;; seed++)
			Turn(seed % 1000);
	}
}
