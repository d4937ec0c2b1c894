// SPDX-License-Identifier: GPL-2.0-or-later
// A virtual thread that yields again and again, and so has its callers in the heap. Without one if the JVM has none.
public class Virtual {
	static volatile long sink;

	static void burn(long rounds) {
		long number = 1;
		for (long i = 0; i < rounds; i++)
			number = number * 6364136223846793005L + (number >>> 17);
		sink += number;
	}

	static void inner(int times) {
		for (int i = 0; i < times; i++) {
			burn(300000);
			Thread.yield();
		}
	}

	static void outer(int times) {
		inner(times);
	}

	public static void main(String[] arguments) throws Exception {
		Runnable program = () -> outer(Integer.parseInt(arguments[0]));
		// Since 21.
		Object thread = Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, program);
		((Thread) thread).join();
	}
}
