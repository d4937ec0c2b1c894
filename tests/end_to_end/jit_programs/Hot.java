// SPDX-License-Identifier: GPL-2.0-or-later
// Runs heavy three times as long as light, for as many seconds of CPU time as the argument says, but no
// longer than a minute.
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

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
		long latest = System.nanoTime() + 60_000_000_000L;
		int total = 0;

		while (threads.getCurrentThreadCpuTime() < end && System.nanoTime() - latest < 0)
			total ^= heavy(200000) + light(200000);
		if (total == 0x12345678)
			System.out.println(total);
	}
}
