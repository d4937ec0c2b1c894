// SPDX-License-Identifier: GPL-2.0-or-later
// Traces FILE: calls methods of some classes through each other, so that the compilers put many into others. Now and then
// a method asks for its own stack trace and then makes a system call, access(), where it can be sampled. Writes the traces
// to FILE, without the method that asks, outermost first, as frames are in folded stacks.
import java.io.File;
import java.io.FileWriter;
import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import java.util.function.LongUnaryOperator;

public class Traces {
	static final int TRACES = 4000;
	static final File absent = new File("/nonexistent");
	static final Set<String> traces = new HashSet<>();
	static boolean isOn;
	static int count;
	static long sink;

	interface Step { long go(int depth, long random); }

	static void probe() {
		if (!isOn || ++count > TRACES)
			return;
		StackTraceElement[] trace = new Throwable().getStackTrace();
		absent.canRead();
		StringBuilder text = new StringBuilder();
		for (int i = trace.length - 1; i > 0; i--)
			text.append(';').append(trace[i].getClassName()).append('.').append(trace[i].getMethodName())
				.append(" (Traces.java:").append(trace[i].getLineNumber()).append(")_[j]");
		traces.add(text.toString());
	}

	static long next(int depth, long random) {
		if ((random & 0x3ff) == 0)
			probe();
		return depth <= 0 ? random
				  : steps[(int) (random >>> 7 & 7) % steps.length].go(depth - 1,
					random * 6364136223846793005L + 1442695040888963407L);
	}

	static final class Plain implements Step {
		public long go(int depth, long random) {
			return next(depth, random) ^ 1;
		}
	}

	static final class Nested implements Step {
		public long go(int depth, long random) {
			return first(depth, random)
				+ second(depth, random >>> 3);
		}

		long first(int depth, long random) {
			return depth > 6 ? next(depth - 2, random) : third(depth, random);
		}

		long second(int depth, long random) {
			return depth > 8 ? next(depth - 4, random) : random;
		}

		long third(int depth, long random) {
			if ((random & 0xff) == 3)
				probe();
			return next(depth - 1, random);
		}
	}

	static final class Lambda implements Step {
		final LongUnaryOperator operator = x -> {
			if ((x & 0x1ff) == 5)
				probe();
			return x + 1;
		};

		public long go(int depth, long random) {
			return next(depth, operator.applyAsLong(random));
		}
	}

	static final class Locked implements Step {
		public synchronized long go(int depth, long random) {
			try {
				return next(depth, random);
			} finally {
				if ((random & 0xfff) == 9)
					probe();
			}
		}
	}

	static final class Recursive implements Step {
		public long go(int depth, long random) {
			return again(3, depth, random);
		}

		long again(int times, int depth, long random) {
			return times == 0 ? next(depth, random) : again(times - 1, depth, random * 31 + times);
		}
	}

	static final Step[] steps = { new Plain(), new Nested(), new Lambda(), new Locked(), new Recursive() };

	/* The first rounds have the compilers work. */
	public static void main(String[] arguments) throws IOException {
		long random = 42;
		for (int i = 0; count < TRACES; i++) {
			isOn = i >= 6000000;
			sink += next(14, random);
			random = random * 6364136223846793005L + 1442695040888963407L;
		}
		try (FileWriter file = new FileWriter(arguments[0])) {
			for (String trace : traces)
				file.write(trace + "\n");
		}
	}
}
