// SPDX-License-Identifier: GPL-2.0-or-later
// JavaScala FOLDER FILE...: Scala's compiler compiles the files again and again, into the folder.
import java.util.stream.Stream;

public class JavaScala {
	public static void main(String[] arguments) {
		String[] options = { "-usejavacp", "-nowarn", "-d", arguments[0] };
		String[] all = Stream.concat(Stream.of(options), Stream.of(arguments).skip(1)).toArray(String[]::new);
		for (;;)
			scala.tools.nsc.Main.process(all);
	}
}
