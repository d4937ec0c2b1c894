// SPDX-License-Identifier: GPL-2.0-or-later
// Waiting FILE: threads that wait in methods of these names. Writes FILE once all do: the methods of each as the JVM
// tells them, innermost first, each on a line, and an empty line behind each thread.
import java.io.File;
import java.io.FileWriter;
import java.util.concurrent.locks.LockSupport;

class Waiting implements Runnable {
	static final String[] names = { "inSleep", "inWait", "inPark", "inEnter", "inNested", "inMany" };
	static final Object held = new Object();
	final String name;

	Waiting(String name) {
		this.name = name;
	}

	static void inSleep() throws InterruptedException {
		Thread.sleep(1000000000);
	}

	static void inWait() throws InterruptedException {
		Object own = new Object();

		synchronized (own) {
			own.wait();
		}
	}

	static void inPark() {
		LockSupport.park();
	}

	static void inEnter() {
		synchronized (held) {
		}
	}

	static void nested(int depth) throws InterruptedException {
		if (depth > 0)
			nested(depth - 1);
		else
			inSleep();
	}

	static void inNested() throws InterruptedException {
		nested(20);
	}

	static void inMany() throws InterruptedException {
		Many.many0();
	}

	static void waitForEver(String name) throws InterruptedException {
		switch (name) {
		case "inSleep":
			inSleep();
			break;
		case "inWait":
			inWait();
			break;
		case "inPark":
			inPark();
			break;
		case "inEnter":
			inEnter();
			break;
		case "inMany":
			inMany();
			break;
		default:
			inNested();
		}
	}

	public void run() {
		try {
			waitForEver(name);
		} catch (InterruptedException e) {
		}
	}

	static boolean waits(Thread thread) {
		return thread.getState() == Thread.State.WAITING || thread.getState() == Thread.State.BLOCKED ||
			thread.getState() == Thread.State.TIMED_WAITING;
	}

	public static void main(String[] arguments) throws Exception {
		Thread[] threads = new Thread[names.length];
		StringBuilder text = new StringBuilder();
		File part = new File(arguments[0] + ".part");

		synchronized (held) {
			for (int i = 0; i < names.length; i++) {
				threads[i] = new Thread(new Waiting(names[i]));
				threads[i].start();
			}
			for (Thread thread : threads)
				while (!waits(thread))
					Thread.sleep(10);
			Thread.sleep(200);
			for (Thread thread : threads) {
				for (StackTraceElement at : thread.getStackTrace())
					text.append(at.getClassName() + "." + at.getMethodName() + "\n");
				text.append("\n");
			}
			try (FileWriter writer = new FileWriter(part)) {
				writer.write(text.toString());
			}
			part.renameTo(new File(arguments[0]));
			Thread.sleep(1000000000);
		}
	}
}
