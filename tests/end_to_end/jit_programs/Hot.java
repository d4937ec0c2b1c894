// SPDX-License-Identifier: GPL-2.0-or-later
// Runs heavy three times as long as light. The first argument is the CPU time in seconds; the second is the time limit,
// a minute by default.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.SplittableRandom;

public class Hot {
	static int heavy(int rounds) {
		int sum = 1;

		for (int i = 0; i < 3 * rounds; i++)
			sum = (sum * 31 + i) ^ (sum >>> 7);
		return sum;
	}

	static int light(int rounds) {
		int sum = 1;

		for (int i = 0; i < rounds; i++)
			sum = (sum * 31 + i) ^ (sum >>> 7);
		return sum;
	}

	public static void main(String[] arguments) {
		ThreadMXBean threads = ManagementFactory.getThreadMXBean();
		long end = threads.getCurrentThreadCpuTime() +
			(long) (1e9 * Double.parseDouble(arguments[0]));
		long latest = System.nanoTime() +
			1_000_000_000L * (arguments.length > 1 ? Long.parseLong(arguments[1]) : 60);
		SplittableRandom random = new SplittableRandom();
		int total = 0;

		while (threads.getCurrentThreadCpuTime() < end && System.nanoTime() - latest < 0) {
			// Turns of equal length could be in step with the samples.
			int rounds = 100000 + random.nextInt(200000);

			total ^= heavy(rounds) + light(rounds);
		}
		if (total == 0x12345678)
			System.out.println(total);
	}
}
