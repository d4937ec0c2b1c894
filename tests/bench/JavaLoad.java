// SPDX-License-Identifier: GPL-2.0-or-later
// Runs for so many seconds, mostly in some 30 methods that call each other; the compiler puts some into others.
public class JavaLoad {
	static volatile long sink;

	static long leaf() {
		long number = 1;
		for (int i = 0; i < 2000; i++)
			number = number * 6364136223846793005L + (number >>> 17);
		return number;
	}

	static long deeper(int depth) {
		return depth == 0 ? leaf() : depth % 3 == 0 ? deeper(depth - 1) + 1 : step(depth - 1);
	}

	static long step(int depth) {
		return deeper(depth) ^ depth;
	}

	public static void main(String[] arguments) {
		long stop = System.nanoTime() + Long.parseLong(arguments[0]) * 1000000000L;
		while (System.nanoTime() < stop)
			sink += deeper(24);
	}
}
