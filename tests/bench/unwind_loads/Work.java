// SPDX-License-Identifier: GPL-2.0-or-later
// JIT code, the interpreter, the collector.
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

public class Work {
	static int fibonacci(int n) {
		return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
	}

	public static void main(String[] arguments) {
		for (int sum = 0;; sum += fibonacci(20)) {
			List<String> texts = new ArrayList<>();
			for (int i = 0; i < 5000; i++)
				texts.add("" + (i + sum % 7));
			Collections.sort(texts);
		}
	}
}
