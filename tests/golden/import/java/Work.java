/* Runs Java code, native code and allocations in known methods, for a recording of JFR. */
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.List;

public class Work {
	static volatile double sink;

	static double spin(int n) {
		double x = 0;
		for (int i = 1; i < n; i++)
			x += Math.sin(i) * Math.cos(i);
		return x;
	}

	static double recurse(int depth) {
		return depth == 0 ? spin(200000) : recurse(depth - 1) + 1;
	}

	static List<byte[]> allocate(int n) {
		List<byte[]> list = new ArrayList<>();
		for (int i = 0; i < n; i++)
			list.add(new byte[4096]);
		return list;
	}

	static void work(long end, int depth) {
		while (System.nanoTime() < end) {
			sink += recurse(depth) + allocate(100).size();
		}
	}

	static void waitForClients() {
		try (ServerSocket server = new ServerSocket(0)) {
			server.accept();
		} catch (java.io.IOException e) {
			sink = 0;
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + Long.parseLong(args[0]) * 1000000L;
		Thread waiter = new Thread(Work::waitForClients, "waiter");
		Thread deep = new Thread(() -> work(end, 100), "d\u00e9ep \u4e16");
		waiter.setDaemon(true);
		waiter.start();
		deep.start();
		work(end, 3);
		deep.join();
	}
}
