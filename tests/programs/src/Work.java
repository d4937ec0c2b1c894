// SPDX-License-Identifier: GPL-2.0-or-later
import java.util.Arrays;
import java.util.HashMap;

public class Work {
	static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
	}

	static int turn(int seed) {
		HashMap<String, Integer> words = new HashMap<>();
		for (int i = 0; i < 500; i++)
			words.merge("word" + seed * i % 101, 1, Integer::sum);
		Object[] names = words.keySet().stream().sorted().toArray();
		return Arrays.hashCode(names) + fibonacci(18);
	}

	public static void main(String[] arguments) {
		for (int seed = 0, sum = 0; sum != 1; seed++)
			sum = turn(seed) | 2;
	}
}
