// SPDX-License-Identifier: GPL-2.0-or-later
// Much code with deep inlining out of few lines: what the standard library's templates make of it.
// BRIEF leaves out regular expressions, which are most of the code and of the compiler's time.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>
#ifndef BRIEF
#include <regex>
#endif

namespace {

struct shape {
	virtual ~shape() = default;
	virtual double area() const = 0;
};

template <int corners> struct polygon : shape {
	explicit polygon(double side) : side(side) {}
	double area() const override { return corners * side * side / 4; }
	double side;
};

using value = std::variant<int, double, std::string, std::vector<int>>;

std::string text_of(const value &v)
{
	return std::visit(
		[](const auto &x) -> std::string {
			std::ostringstream stream;
			if constexpr (requires { x.begin(); x.front() + 1; })
				for (auto i : x)
					stream << i << ',';
			else
				stream << x;
			return stream.str();
		},
		v);
}

template <typename key> struct tally {
	void add(const key &k) { counts[k]++; }
	std::optional<key> most() const
	{
		auto greatest = std::max_element(counts.begin(), counts.end(),
			[](const auto &a, const auto &b) { return a.second < b.second; });
		if (greatest == counts.end())
			return std::nullopt;
		return greatest->first;
	}
	std::map<key, size_t> counts;
};

#ifdef BRIEF
[[gnu::noinline]] size_t count_words(const std::string &text)
{
	tally<std::string> words;

	words.add(text);
	return words.most().value_or("").size();
}
#else
[[gnu::noinline]] size_t count_words(const std::string &text)
{
	static const std::regex word("([a-z]+)|([0-9]+(\\.[0-9]+)?)", std::regex::icase);
	std::unordered_map<std::string, std::vector<size_t>> places;
	tally<std::string> words;
	tally<size_t> lengths;

	for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i) {
		places[i->str()].push_back(static_cast<size_t>(i->position()));
		words.add(i->str());
		lengths.add(i->length());
	}
	return places.size() + words.most().value_or("").size() + lengths.most().value_or(0);
}
#endif

[[gnu::noinline]] double sum_of_areas(size_t count)
{
	std::vector<std::unique_ptr<shape>> shapes;
	std::multiset<double> areas;

	for (size_t i = 0; i < count; i++) {
		if (i % 2)
			shapes.push_back(std::make_unique<polygon<4>>(i));
		else
			shapes.emplace_back(new polygon<6>(i + 0.5));
	}
	std::stable_sort(shapes.begin(), shapes.end(),
		[](const auto &a, const auto &b) { return a->area() > b->area(); });
	for (const auto &s : shapes)
		areas.insert(s->area());
	return std::accumulate(areas.begin(), areas.end(), 0.0, std::plus<>());
}

template <typename number> [[gnu::noinline]] number sort_and_pick(std::vector<number> numbers)
{
	std::sort(numbers.begin(), numbers.end());
	std::partial_sort(numbers.begin(), numbers.begin() + numbers.size() / 2, numbers.end(),
		std::greater<number>());
	std::nth_element(numbers.begin(), numbers.begin() + numbers.size() / 3, numbers.end());
	numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
	return numbers.empty() ? number() : numbers[numbers.size() / 3];
}

} // namespace

int main(int argc, char **argv)
{
	std::vector<value> values = { argc, 2.5, std::string(argv[0]), std::vector<int>{ 1, 2, 3 } };
	std::string all;

	for (const auto &v : values)
		all += text_of(v);
	try {
		std::cout << count_words(all) << ' ' << sum_of_areas(static_cast<size_t>(argc) * 9)
			  << ' ' << sort_and_pick<int>({ argc, 3, 1, 2 }) << ' '
			  << sort_and_pick<double>({ argc / 2.0, 3, 1, 2 }) << ' '
			  << sort_and_pick<std::string>({ argv[0], "b", "a", "c" }) << std::endl;
	} catch (const std::exception &e) {
		std::cerr << e.what() << std::endl;
		return 1;
	}
	return 0;
}
