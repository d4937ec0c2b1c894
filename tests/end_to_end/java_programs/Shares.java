// SPDX-License-Identifier: GPL-2.0-or-later
// Spends 60, 30 and 10 % of its time in heavy(), light() and tiny(), which work() calls so many times.
public class Shares {
	static volatile long sink;

	static long burn(long rounds) {
		long x = rounds;
		for (long i = 0; i < rounds; i++)
			x = x * 6364136223846793005L + (x >>> 17) + i;
		return x;
	}

	static void heavy(long rounds) {
		sink += burn(6 * rounds);
	}

	static void light(long rounds) {
		Runnable lambda = () -> sink += burn(3 * rounds);
		lambda.run();
	}

	static void tiny(long rounds) {
		sink += burn(rounds);
	}

	static void work(long times) {
		for (long i = 0; i < times; i++) {
			heavy(2000);
			light(2000);
			tiny(2000);
		}
	}

	public static void main(String[] arguments) {
		work(Long.parseLong(arguments[0]));
	}
}
