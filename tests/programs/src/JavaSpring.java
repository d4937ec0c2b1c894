// SPDX-License-Identifier: GPL-2.0-or-later
// JavaSpring PORT: a web server of Spring Boot, and threads that ask it for pages again and again.
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;

@SpringBootConfiguration
@EnableAutoConfiguration
@RestController
public class JavaSpring {
	static final Pattern word = Pattern.compile("(\\w+?)([aeiou])(\\w*)");
	static final String[] pages = { "/orders?count=40", "/words/the-quick-brown-fox-jumps-over-a-lazy-dog", "/missing" };

	record Order(int id, String customer, double price, List<String> parts) {}

	@GetMapping("/orders")
	public Map<String, List<Order>> orders(@RequestParam("count") int count) {
		return IntStream.range(0, count)
			.mapToObj(i -> new Order(i, "customer " + i * 7919 % 13, i * 31 % 17 / 3.0, List.of("a" + i, "b" + i)))
			.sorted(Comparator.comparing(Order::price).thenComparing(Order::id))
			.collect(Collectors.groupingBy(Order::customer, TreeMap::new, Collectors.toList()));
	}

	@GetMapping("/words/{text}")
	public List<String> words(@PathVariable("text") String text) {
		List<String> words = new ArrayList<>();
		for (String one : text.split("-"))
			words.add(word.matcher(one).replaceAll("$3$2$1").toUpperCase() + String.format("%03d", one.hashCode() & 511));
		words.sort(String.CASE_INSENSITIVE_ORDER);
		return words;
	}

	static void ask(HttpClient client, String server) {
		for (int i = 0;; i++) {
			HttpRequest request = HttpRequest.newBuilder(URI.create(server + pages[i % pages.length])).build();
			try {
				client.send(request, HttpResponse.BodyHandlers.ofString());
			} catch (java.io.IOException | InterruptedException error) {
				throw new RuntimeException(error);
			}
		}
	}

	public static void main(String[] arguments) {
		SpringApplication.run(JavaSpring.class, "--server.port=" + arguments[0], "--server.address=127.0.0.1",
			"--logging.level.root=WARN");
		HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
		for (int i = 0; i < 2; i++)
			new Thread(() -> ask(client, "http://127.0.0.1:" + arguments[0])).start();
	}
}
