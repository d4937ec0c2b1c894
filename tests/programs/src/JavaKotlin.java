// SPDX-License-Identifier: GPL-2.0-or-later
// JavaKotlin FOLDER FILE...: Kotlin's compiler compiles the files again and again, into the folder.
import java.util.stream.Stream;
import org.jetbrains.kotlin.cli.common.ExitCode;
import org.jetbrains.kotlin.cli.jvm.K2JVMCompiler;

public class JavaKotlin {
	public static void main(String[] arguments) {
		String[] options = { "-no-stdlib", "-no-reflect", "-nowarn", "-cp", System.getProperty("java.class.path"), "-d", arguments[0] };
		String[] all = Stream.concat(Stream.of(options), Stream.of(arguments).skip(1)).toArray(String[]::new);
		while (new K2JVMCompiler().exec(System.err, all) == ExitCode.OK)
			continue;
		System.exit(1);
	}
}
