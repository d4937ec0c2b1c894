// SPDX-License-Identifier: GPL-2.0-or-later
// Runs heavy three times as long as light, for as many seconds as the argument says.
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
		long end = System.nanoTime() + (long) (1e9 * Double.parseDouble(arguments[0]));
		int total = 0;

		while (System.nanoTime() < end)
			total ^= heavy(200000) + light(200000);
		if (total == 0x12345678)
			System.out.println(total);
	}
}
