/* SPDX-License-Identifier: GPL-2.0-or-later */
/* C++: exceptions through destructors, virtual calls, templates, the standard library. */
#include <algorithm>
#include <map>
#include <memory>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#define APART __attribute__((noinline))

struct shape {
	virtual ~shape() = default;
	virtual double area(int turns) const = 0;
};

struct square : shape {
	APART double area(int turns) const override
	{
		double sum = 0;
		for (int i = 0; i < turns; i++)
			sum += i % 7 * 1.5;
		return sum;
	}
};

struct guard {
	std::string text;
	~guard() { text += "left"; }
};

APART static int throw_from(int depth)
{
	guard here{std::string(20, 'x')};
	if (depth == 0)
		throw std::runtime_error("deepest");
	return throw_from(depth - 1) + 1;
}

APART static int catch_one(int depth)
{
	try {
		return throw_from(depth);
	} catch (const std::runtime_error &error) {
		return std::string(error.what()).size();
	}
}

APART static size_t use_library(int seed)
{
	std::map<std::string, int> words;
	std::ostringstream text;
	for (int i = 0; i < 200; i++)
		words["word" + std::to_string(seed * i % 101)]++;
	for (const auto &[word, count] : words)
		text << word << ' ' << count << ' ' << count * 0.5 << '\n';
	static const std::regex pattern("word(5[0-9]) ([0-9]+)");
	std::string found = text.str();
	std::vector<int> order(2000);
	for (size_t i = 0; i < order.size(); i++)
		order[i] = int(i * 7919 % 1009);
	std::sort(order.begin(), order.end(), [](int a, int b) { return a > b; });
	return std::regex_search(found, pattern) + size_t(order[0]);
}

int main()
{
	std::unique_ptr<shape> one = std::make_unique<square>();
	volatile double sink = 0;
	for (int turn = 0;; turn++)
		sink = sink + catch_one(10) + use_library(turn) + one->area(20000);
}
